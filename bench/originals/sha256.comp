// Searches the 8-digit decimal number whose SHA-256 is the wanted digest: the GLSL twin of examples/sha256.cl.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 256) in;
layout(buffer_reference, scalar) buffer Words { uint at[]; };
layout(buffer_reference, scalar) readonly buffer Arguments { Words found, wanted; uint each; };
layout(push_constant, scalar) uniform Dispatch { Arguments arguments; };
const uint k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint right(uint x, uint n) { return x >> n | x << (32 - n); }

void digest(uint block[16], inout uint h[8]) {
  uint w[16] = block;
  uint a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], v = h[7];
  for (int i = 0; i < 64; ++i) {
    if (i >= 16) {
      const uint w15 = w[(i + 1) & 15], w2 = w[(i + 14) & 15];
      w[i & 15] += (right(w15, 7) ^ right(w15, 18) ^ w15 >> 3) + w[(i + 9) & 15] + (right(w2, 17) ^ right(w2, 19) ^ w2 >> 10);
    }
    const uint t1 = v + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i & 15];
    const uint t2 = (right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    v = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
  }
  h[0] += a; h[1] += b; h[2] += c; h[3] += d; h[4] += e; h[5] += f; h[6] += g; h[7] += v;
}

void main() {
  const uint each = arguments.each, first = gl_GlobalInvocationID.x * each;
  for (uint number = first; number < first + each; ++number) {
    uint block[16];
    for (int i = 0; i < 16; ++i) block[i] = 0;
    uint rest = number;
    for (int i = 7; i >= 0; --i) {
      block[i / 4] |= (0x30 + rest % 10) << (24 - 8 * (i % 4));
      rest /= 10;
    }
    block[2] = 0x80000000u;
    block[15] = 64;
    uint h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    digest(block, h);
    uint different = 0;
    for (int i = 0; i < 8; ++i) different |= h[i] ^ arguments.wanted.at[i];
    if (different == 0) {
      arguments.found.at[1] = number;
      atomicAdd(arguments.found.at[0], 1u);
    }
  }
}
