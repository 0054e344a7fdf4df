// The page's style. Without script it reads as it is; printed, the columns are as long as they have to be.
#include "report/explore_assets.hpp"

namespace lanewise::report {

const char* const kExploreStyle = R"css(
:root{color-scheme:light dark;--bg:#fbfaf8;--panel:#fff;--ink:#22242a;--dim:#787c86;--line:#e4e1db;--hover:#f1ede4;
--accent:#b4530a;--on:#fdeac2;--exact:#f8cf7c;--hit:#cfe6ff;--op:#1d4f91;--lane:#b4530a;--uni:#2f6f8f;--kept:#b3261e;
--m0:#5b8fd6;--m1:#3f9e6d;--m2:#c98a1b;--m3:#b85c9e;--m4:#8a6fd1;--m5:#c4574a}
@media(prefers-color-scheme:dark){:root{--bg:#17181b;--panel:#1e2024;--ink:#dcdee3;--dim:#8b909b;--line:#31343a;--hover:#282b31;
--accent:#f0a04b;--on:#4a3a17;--exact:#75591a;--hit:#1f3f5f;--op:#8fb8ee;--lane:#f0a04b;--uni:#7fb6cf;--kept:#ff8a80;
--m0:#6f9fe0;--m1:#5cb98a;--m2:#d9a441;--m3:#cf7fb8;--m4:#a58ee6;--m5:#dd7a6d}}
*{box-sizing:border-box}
body{margin:0;font:14px/1.5 system-ui,sans-serif;background:var(--bg);color:var(--ink)}
header{padding:.9rem 1.2rem .5rem;display:flex;flex-wrap:wrap;gap:.3rem 1.4rem;align-items:baseline}
h1{font-size:1.25rem;margin:0;font-weight:650;overflow-wrap:anywhere}
h2{font-size:.8rem;margin:0;font-weight:650;letter-spacing:.02em;color:var(--dim)}
header p{margin:0;color:var(--dim)}header b{color:var(--ink);font-weight:600}
main{padding:0 1.2rem 4.5rem;display:grid;gap:.8rem}
.panel{background:var(--panel);border:1px solid var(--line);border-radius:8px;min-width:0}
.top{display:grid;grid-template-columns:minmax(0,1.9fr) minmax(0,1fr);gap:.8rem}
.head{display:flex;gap:.9rem;align-items:center;padding:.45rem .8rem;border-bottom:1px solid var(--line);min-height:2.2rem;flex-wrap:wrap}
.head small{color:var(--dim);font-size:.75rem}
svg text{font:10px ui-monospace,monospace;fill:var(--dim)}
.curve{width:100%;max-height:12rem;display:block;cursor:crosshair;padding:.3rem .2rem 0}.curve path{fill:none;stroke-width:1.6}
.curve .grid{stroke:var(--line)}.curve .area{fill:var(--lane);opacity:.12}
.curve .p1{stroke:var(--lane);stroke-width:2}.curve .p0{stroke:var(--lane);opacity:.45}.curve .pb{stroke:var(--lane);stroke-dasharray:3 3;opacity:.8}
.curve .u1{stroke:var(--uni)}.curve .u0{stroke:var(--uni);opacity:.4}.curve .cursor{stroke:var(--accent)}.curve .tick{stroke:var(--kept);stroke-width:1.5}
.legend{margin:0;padding:.1rem .8rem .5rem;display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;font-size:.75rem;color:var(--dim)}
.legend span::before{content:"";display:inline-block;width:16px;border-top:2px solid var(--lane);margin-right:.4em;vertical-align:middle}
.legend .p0::before{opacity:.45}.legend .pb::before{border-top-style:dashed}.legend .u0::before,.legend .u1::before{border-color:var(--uni)}.legend .u0::before{opacity:.45}
.legend .tick::before{width:0;height:8px;border-top:0;border-left:2px solid var(--kept)}
.flow{overflow:auto;max-height:14rem}.graph{display:block;margin:auto}
.graph .e{fill:none;stroke:var(--dim);stroke-width:1.2;marker-end:url(#arrow)}.graph .no{stroke-dasharray:4 3}.graph .back{stroke:var(--accent);stroke-width:2}
.graph marker path{fill:var(--dim)}.graph .n{cursor:pointer}.graph rect{fill:var(--panel);stroke:var(--dim)}
.graph .l1 rect{fill:color-mix(in srgb,var(--accent) 10%,var(--panel))}.graph .l2 rect{fill:color-mix(in srgb,var(--accent) 20%,var(--panel))}
.graph .l3 rect,.graph .l4 rect{fill:color-mix(in srgb,var(--accent) 32%,var(--panel))}
.graph text{text-anchor:middle;fill:var(--ink);pointer-events:none}.graph text.s{fill:var(--dim);font-size:9px}.graph .on rect{fill:var(--on);stroke:var(--accent);stroke-width:2}
.cols{display:grid;grid-template-columns:minmax(0,1.15fr) minmax(0,1fr) minmax(0,1fr);gap:.8rem}
.col{display:flex;flex-direction:column}
.rows{overflow:auto;height:calc(100vh - 33rem);min-height:24rem;position:relative;font:12px/18px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;padding:.3rem 0}
.rows section{content-visibility:auto;contain-intrinsic-height:1152px;min-width:100%}
.rows p{margin:0;height:18px;padding:0 .8rem 0 .6rem;white-space:pre;cursor:pointer}
.rows p:hover{background-color:var(--hover)}.rows p.on{background-color:var(--on)}.rows p.exact{background-color:var(--exact)}.rows p.pin{box-shadow:inset 3px 0 var(--accent)}
.rows p.hit{background-color:var(--hit)}.rows p.hit.on{background-color:var(--exact)}
.rows b{font-weight:600;color:var(--op)}.rows a{color:var(--dim)}.rows p.f,.rows p.bl{color:var(--dim)}
.rows i{font-style:normal;color:var(--accent);opacity:.9}.rows u{text-decoration:none;color:var(--kept);font-weight:700}
.rows p{background-repeat:no-repeat}.rows p.new{background-position-y:2px!important}
.rows em{font-style:normal;display:inline-block;width:5ch;text-align:right;color:var(--dim);margin-right:1ch;background:linear-gradient(to left,color-mix(in srgb,var(--lane) 30%,transparent) var(--w),transparent 0)}
.col>input{position:absolute;opacity:0}.col>input:focus-visible+label{outline:2px solid var(--accent)}
.head label{cursor:pointer;color:var(--dim);font-size:.8rem;border-bottom:2px solid transparent}
#wave:checked~.head [for=wave],#invocation:checked~.head [for=invocation]{color:var(--ink);border-color:var(--accent)}
#wave:checked~.lowered,#invocation:checked~.optimised{display:none}
#find{margin-left:auto;display:flex;gap:.6rem;align-items:center}
#find input{font:inherit;padding:.25rem .7rem;border:1px solid var(--line);border-radius:6px;background:var(--panel);color:inherit;width:19rem;max-width:60vw}
#find output{color:var(--dim);min-width:6rem;font-variant-numeric:tabular-nums}
.kept table{border-collapse:collapse;width:100%;font:12px/18px ui-monospace,monospace}
.kept td{padding:.2rem .8rem;border-top:1px solid var(--line);vertical-align:top}.kept tr{cursor:pointer}.kept tr:hover{background:var(--hover)}
.kept td:last-child{font-family:system-ui,sans-serif;color:var(--dim)}.kept div{max-height:16rem;overflow:auto}
#detail{position:fixed;inset:auto 0 0 0;background:var(--panel);border-top:1px solid var(--line);padding:.45rem 1.2rem;display:flex;gap:.2rem 1.6rem;flex-wrap:wrap;font-size:.82rem;box-shadow:0 -4px 18px #0001;max-height:30vh;overflow:auto}
#detail:empty{display:none}#detail code{font:12px ui-monospace,monospace;overflow-wrap:anywhere}#detail span{color:var(--dim)}
noscript p{margin:0;color:var(--dim)}
@media(max-width:900px){.cols,.top{grid-template-columns:minmax(0,1fr)}.rows{height:60vh}}
@media print{:root{--bg:#fff;--panel:#fff;--ink:#000;--dim:#555;--line:#ccc}#find,#detail{display:none}main{padding-bottom:0}
.rows,.flow,.kept div{height:auto;max-height:none;overflow:visible}.rows{font-size:7px;line-height:10px}.rows p{height:auto;white-space:pre-wrap;overflow-wrap:anywhere}
.rows section{content-visibility:visible;min-width:0!important}.panel{border:0;break-inside:auto}.graph{max-width:100%;height:auto}.lowered{display:none}}
)css";

} // namespace lanewise::report
