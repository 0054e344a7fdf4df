// The Mandelbrot set, one work-item a pixel, RGBA bytes out. Lanes of a wave leave the loop at different trips.
__kernel void mandelbrot(__global uint* picture, uint width, uint height, float left, float top, float step,
                         uint limit) {
  const uint x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  const float cr = left + step * (float)x, ci = top + step * (float)y;
  float zr = 0.0f, zi = 0.0f;
  uint n = 0;
  while (n < limit && zr * zr + zi * zi < 4.0f) {
    const float next = zr * zr - zi * zi + cr;
    zi = 2.0f * zr * zi + ci;
    zr = next;
    ++n;
  }
  const uint red = (n * 9) & 255, green = (n * 5) & 255, blue = (n * 17 + 40) & 255;
  picture[y * width + x] = n == limit ? 0xff000000u : 0xff000000u | blue << 16 | green << 8 | red;
}
