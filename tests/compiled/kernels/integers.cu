// Bytes, bits and wide integers.

// Brightness of pixels of four bytes.
extern "C" __global__ void grey(const uchar4* pixels, unsigned char* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uchar4 p = pixels[i];
    out[i] = (77 * p.x + 150 * p.y + 29 * p.z + 128) >> 8;
}

// Capital letters, four characters a thread.
extern "C" __global__ void capitals(char4* text, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    char4 c = text[i];
    auto raised = [](char a) -> char { return a >= 'a' && a <= 'z' ? a - 32 : a; };
    text[i] = make_char4(raised(c.x), raised(c.y), raised(c.z), raised(c.w));
}

// Beginnings of words in a text.
extern "C" __global__ void count_words(const char* text, int* words, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool begins = i < n && text[i] != ' ' && (i == 0 || text[i - 1] == ' ');
    int found = __syncthreads_count(begins);
    if (threadIdx.x == 0) atomicAdd(words, found);
}

// Products of bytes, four at a time: rows of `words` words times one vector.
extern "C" __global__ void dot_bytes(const int* a, const int* x, int* y, int rows, int words) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int sum = 0;
    for (int k = 0; k < words; ++k) sum = __dp4a(a[row * words + k], x[k], sum);
    y[row] = sum;
}

// A hash of 64 bits: multiplications, shifts, the high half of a product.
extern "C" __global__ void hash(const unsigned long long* keys, unsigned long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long h = keys[i] + 0x9e3779b97f4a7c15ull;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ h >> 27) * 0x94d049bb133111ebull;
    h ^= __umul64hi(h, keys[i] | 1) + (h << 7 | h >> 57);
    out[i] = h % 1000003 + (h / 1000003 << 32);
}

__constant__ unsigned polynomial = 0xedb88320u;

// Checksum of rows of bytes through a table that the block makes itself.
extern "C" __global__ void crc32(const unsigned char* rows, unsigned* out, int n, int length) {
    __shared__ unsigned table[256];
    unsigned entry = threadIdx.x;
    for (int k = 0; k < 8; ++k) entry = entry & 1 ? entry >> 1 ^ polynomial : entry >> 1;
    table[threadIdx.x] = entry;
    __syncthreads();
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    unsigned crc = ~0u;
    for (int k = 0; k < length; ++k) crc = table[(crc ^ rows[row * length + k]) & 255] ^ crc >> 8;
    out[row] = ~crc;
}

// Bit functions: 12 results a thread.
extern "C" __global__ void bits(const unsigned* x, const unsigned long long* wide, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = x[i], w = x[(i + 1) % n];
    unsigned long long u = wide[i];
    int* to = out + 12 * i;
    to[0] = __popc(v);
    to[1] = __clz(v);
    to[2] = __ffs(v);
    to[3] = __brev(v);
    to[4] = __byte_perm(v, w, 0x6240);
    to[5] = __funnelshift_l(v, w, v & 63);
    to[6] = __popcll(u) + 100 * __clzll(u);
    to[7] = __ffsll(u) ^ (int)__brevll(u);
    to[8] = __umulhi(v, w);
    to[9] = __mulhi((int)v, (int)w);
    to[10] = __sad((int)v, (int)w, 3u);
    to[11] = __vadd4(v, w) ^ __vmaxu4(v, w);
}

// Divisions and remainders of all widths, rounded to zero; divisors are not 0.
extern "C" __global__ void divisions(const int* a, const int* b, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int p = a[i], q = b[i];
    long long* to = out + 8 * i;
    to[0] = p / q;
    to[1] = p % q;
    to[2] = (unsigned)p / (unsigned)q;
    to[3] = (unsigned)p % (unsigned)q;
    to[4] = (long long)p * 1000003 / q;
    to[5] = (long long)p * 1000003 % q;
    to[6] = (short)p / (short)(q | 1);
    to[7] = p / 10 + p % 7;
}

// Sums of 128-bit numbers, the carry from part to part.
extern "C" __global__ void add_128(const uint4* a, const uint4* b, uint4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 p = a[i], q = b[i], sum;
    asm("add.cc.u32 %0, %4, %8;\n\t"
        "addc.cc.u32 %1, %5, %9;\n\t"
        "addc.cc.u32 %2, %6, %10;\n\t"
        "addc.u32 %3, %7, %11;"
        : "=r"(sum.x), "=r"(sum.y), "=r"(sum.z), "=r"(sum.w)
        : "r"(p.x), "r"(p.y), "r"(p.z), "r"(p.w), "r"(q.x), "r"(q.y), "r"(q.z), "r"(q.w));
    out[i] = sum;
}
