// The page's script: lights up what belongs together, searches, says what is known of a line. No framework;
// the page reads without it.
#include "report/explore_assets.hpp"

namespace lanewise::report {

const char* const kExploreScript = R"js(
(() => {
const D = JSON.parse(document.getElementById('data').textContent);
const one = s => document.querySelector(s), all = s => [...document.querySelectorAll(s)];
const lists = all('.rows'), machine = lists[0], detail = one('#detail'), cursor = one('.curve .cursor');
// For each list its rows by instruction and by IR value, made when first asked for.
const maps = new Map();
function rowsOf(list) {
  let m = maps.get(list);
  if (m) return m;
  m = {rows: list.getElementsByTagName('p'), g: new Map(), v: new Map()};
  const put = (map, key, row) => { const a = map.get(key); a ? a.push(row) : map.set(key, [row]); };
  for (const row of m.rows) {
    if (row.dataset.g) put(m.g, row.dataset.g, row);
    if (row.dataset.v) put(m.v, row.dataset.v, row);
  }
  maps.set(list, m);
  return m;
}
let lit = [], pinned = null;
function clear() { for (const e of lit) e.classList.remove('on', 'exact'); lit = []; }
function add(e, c) { e.classList.add(c); lit.push(e); }
function light(g, v) {
  clear();
  if (g !== undefined) {
    for (const list of lists) for (const row of rowsOf(list).g.get(g) || []) add(row, 'on');
    for (const n of all('.graph .n[data-g="' + D.block[g] + '"]')) add(n, 'on');
  }
  if (v) for (const list of lists) for (const row of rowsOf(list).v.get(v) || []) add(row, 'exact');
  if (cursor && g !== undefined) {
    const c = cursor.parentNode.dataset, x = +c.left + (+g + .5) / c.n * (c.right - c.left);
    cursor.setAttribute('x1', x); cursor.setAttribute('x2', x);
  }
  tell(g);
}
// Rows are all of one height, so places are right before the browser has laid them out.
function show(row) {
  const list = row.closest('.rows'), y = row.getBoundingClientRect().top - list.getBoundingClientRect().top;
  if (y < 18 || y > list.clientHeight - 54) list.scrollTop += y - list.clientHeight / 2;
}
function pin(g, v, from) {
  if (pinned) pinned.classList.remove('pin');
  pinned = null;
  light(g, v);
  for (const list of lists) {
    if (!list.offsetParent && list.clientHeight === 0) continue;
    const m = rowsOf(list), row = (v && m.v.get(v) || g !== undefined && m.g.get(g) || [])[0];
    if (!row) continue;
    if (!from || from.closest('.rows') !== list) show(row);
    if (list === machine) { pinned = row; row.classList.add('pin'); }
  }
  if (g !== undefined) history.replaceState(null, '', '#' + D.pc[g]);
}
function tell(g) {
  detail.textContent = '';
  if (g === undefined) return;
  const part = (name, text, code) => {
    const d = document.createElement('div'), s = document.createElement('span'), t = document.createElement(code ? 'code' : 'b');
    s.textContent = name + ' '; t.textContent = text; d.append(s, t); detail.append(d);
  };
  const row = (rowsOf(machine).g.get(g) || [])[0], operation = row && row.querySelector('b');
  part(D.pc[g], operation ? operation.textContent + (operation.nextSibling ? operation.nextSibling.textContent : '') : '', true);
  if (D.exec[g] >= 0) {
    // The formula, and what the names in it stand for.
    const todo = [D.exec[g]], said = new Set(todo);
    for (const e of todo) {
      part(e === D.exec[g] ? 'EXEC' : 'where', 'E' + e + ' = ' + D.formula[e], true);
      for (const [, n] of D.formula[e].matchAll(/\bE(\d+)\b/g)) if (!said.has(+n)) { said.add(+n); todo.push(+n); }
    }
  }
  else part('EXEC', D.formula.length ? 'not known here' : 'not known: control flow cannot be followed');
  const l = D.live[g];
  part('live words per lane', l[0] + ' \u2192 ' + l[1] + ' (bound ' + l[2] + ')');
  part('uniform', l[3] + ' \u2192 ' + l[4]);
  for (const k of D.kept[g] || []) part('select stays:', k);
}
document.addEventListener('mouseover', e => {
  const row = e.target.closest && e.target.closest('.rows p');
  if (row && !pinned) light(row.dataset.g, row.dataset.v);
});
document.addEventListener('click', e => {
  const c = e.target.closest && e.target.closest('.rows p,.graph .n,.kept tr,.tick');
  if (c && c.dataset.g !== undefined && !getSelection().toString()) pin(c.dataset.g, c.dataset.v, c);
});
const curve = one('svg.curve');
if (curve) curve.addEventListener('click', e => {
  const c = curve.dataset, box = curve.getBoundingClientRect(), x = (e.clientX - box.left) / box.width * curve.viewBox.baseVal.width;
  const g = Math.floor((x - c.left) / (c.right - c.left) * c.n);
  pin(String(Math.max(0, Math.min(c.n - 1, g))));
});
// -- search
const field = one('#find input'), count = one('#find output');
let hits = [], at = 0, later = 0;
function search() {
  for (const row of hits) row.classList.remove('hit');
  hits = []; at = 0;
  const want = field.value.trim().toLowerCase();
  if (want) for (const list of lists) {
    if (list.clientHeight === 0) continue;
    for (const row of rowsOf(list).rows) if (row.textContent.toLowerCase().includes(want)) { row.classList.add('hit'); hits.push(row); }
  }
  go(0);
}
function go(step) {
  count.value = !field.value.trim() ? '' : hits.length ? '' : 'nothing found';
  if (!hits.length) return;
  at = (at + step + hits.length) % hits.length;
  count.value = (at + 1) + ' of ' + hits.length;
  const row = hits[at];
  show(row);
  pin(row.dataset.g, row.dataset.v, row);
}
field.addEventListener('input', () => { clearTimeout(later); later = setTimeout(search, 80); });
field.addEventListener('keydown', e => {
  if (e.key === 'Enter') { e.preventDefault(); go(e.shiftKey ? -1 : 1); }
  if (e.key === 'Escape') { field.value = ''; search(); field.blur(); }
});
document.addEventListener('keydown', e => {
  if (e.target === field || e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === '/') { e.preventDefault(); field.focus(); field.select(); return; }
  if (e.key === 'Escape') { if (pinned) pinned.classList.remove('pin'); pinned = null; light(); return; }
  const step = {j: 1, ArrowDown: 1, k: -1, ArrowUp: -1}[e.key];
  if (!step || !pinned) return;
  e.preventDefault();
  const next = +pinned.dataset.g + step;
  if (next >= 0 && next < D.pc.length) { pin(String(next)); show(pinned); }
});
one('#find').hidden = false;
const wanted = D.pc.indexOf(decodeURIComponent(location.hash.slice(1)));
if (wanted >= 0) pin(String(wanted));
})();
)js";

} // namespace lanewise::report
