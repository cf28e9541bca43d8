// Stencils: every point from its neighbours.

#define RADIUS 3

// out[i] = sum of the 7 values around i, through a tile with a halo; outside there are zeros.
extern "C" __global__ void stencil_1d(const float* in, float* out, int n) {
    __shared__ float tile[128 + 2 * RADIUS];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    tile[RADIUS + t] = i < n ? in[i] : 0.0f;
    if (t < RADIUS) {
        tile[t] = i >= RADIUS ? in[i - RADIUS] : 0.0f;
        tile[RADIUS + 128 + t] = i + 128 < n ? in[i + 128] : 0.0f;
    }
    __syncthreads();
    if (i >= n) return;
    float sum = 0;
    for (int k = -RADIUS; k <= RADIUS; ++k) sum += tile[RADIUS + t + k];
    out[i] = sum;
}

// One step of heat conduction on a plane; the border keeps its values.
extern "C" __global__ void stencil_2d(const float* in, float* out, int width, int height, float rate) {
    __shared__ float tile[10][34];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty;
    for (int row = ty; row < 10; row += 8)
        for (int column = tx; column < 34; column += 32) {
            int gx = min(max((int)blockIdx.x * 32 + column - 1, 0), width - 1);
            int gy = min(max((int)blockIdx.y * 8 + row - 1, 0), height - 1);
            tile[row][column] = in[gy * width + gx];
        }
    __syncthreads();
    if (x >= width || y >= height) return;
    float centre = tile[ty + 1][tx + 1];
    bool inside = x > 0 && x < width - 1 && y > 0 && y < height - 1;
    float around = tile[ty][tx + 1] + tile[ty + 2][tx + 1] + tile[ty + 1][tx] + tile[ty + 1][tx + 2];
    out[y * width + x] = inside ? centre + rate * (around - 4.0f * centre) : centre;
}

// Seven points in space: each thread marches along z and keeps three values in registers.
extern "C" __global__ void stencil_3d(const float* in, float* out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (x >= nx - 1 || y >= ny - 1) return;
    int plane = nx * ny, i = y * nx + x;
    float below = in[i], here = in[i + plane];
    for (int z = 1; z < nz - 1; ++z) {
        i += plane;
        float above = in[i + plane];
        out[i] = 0.5f * here + 0.25f * (in[i - 1] + in[i + 1]) + 0.125f * (in[i - nx] + in[i + nx]) + (below - above);
        below = here;
        here = above;
    }
}

__constant__ float smooth[5][5] = {{1, 4, 6, 4, 1}, {4, 16, 24, 16, 4}, {6, 24, 36, 24, 6}, {4, 16, 24, 16, 4},
                                   {1, 4, 6, 4, 1}};

// 5 x 5 filter from constant memory; pixels outside count as 0.
extern "C" __global__ void convolution(const float* in, float* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx) {
            int px = x + dx, py = y + dy;
            if (px >= 0 && px < width && py >= 0 && py < height) sum += smooth[dy + 2][dx + 2] * in[py * width + px];
        }
    out[y * width + x] = sum * (1.0f / 256);
}

// One generation of Conway's game on a plane whose edges meet.
extern "C" __global__ void game_of_life(const unsigned char* now, unsigned char* next, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int alive = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            if (dx || dy) alive += now[(y + dy + height) % height * width + (x + dx + width) % width];
    next[y * width + x] = alive == 3 || (alive == 2 && now[y * width + x]);
}
