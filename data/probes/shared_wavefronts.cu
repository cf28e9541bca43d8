#include <cstdio>
#include <cstdlib>
#include <vector>
template<int W> struct V; template<> struct V<4>{using T=unsigned;}; template<> struct V<8>{using T=uint2;}; template<> struct V<16>{using T=uint4;};
template<int W> __device__ void ld(unsigned a, unsigned* r);
template<> __device__ void ld<4>(unsigned a, unsigned* r){asm volatile("ld.shared.u32 %0,[%1];":"=r"(r[0]):"r"(a)); r[1]=r[2]=r[3]=0;}
template<> __device__ void ld<8>(unsigned a, unsigned* r){asm volatile("ld.shared.v2.u32 {%0,%1},[%2];":"=r"(r[0]),"=r"(r[1]):"r"(a)); r[2]=r[3]=0;}
template<> __device__ void ld<16>(unsigned a, unsigned* r){asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(r[0]),"=r"(r[1]),"=r"(r[2]),"=r"(r[3]):"r"(a));}
template<int W> __device__ void st(unsigned a, unsigned v);
template<> __device__ void st<4>(unsigned a, unsigned v){asm volatile("st.shared.u32 [%1],%0;"::"r"(v),"r"(a):"memory");}
template<> __device__ void st<8>(unsigned a, unsigned v){asm volatile("st.shared.v2.u32 [%1],{%0,%0};"::"r"(v),"r"(a):"memory");}
template<> __device__ void st<16>(unsigned a, unsigned v){asm volatile("st.shared.v4.u32 [%1],{%0,%0,%0,%0};"::"r"(v),"r"(a):"memory");}
template<int W> __global__ void load_k(const int* idx, unsigned mask, unsigned* out){ __shared__ __align__(16) unsigned s[4096]; unsigned b=(unsigned)__cvta_generic_to_shared(s)+idx[threadIdx.x]*W; unsigned r[4]={0,0,0,0}; if(mask>>threadIdx.x&1) { ld<W>(b,r); out[threadIdx.x]=r[0]+r[1]+r[2]+r[3]; } }
template<int W> __global__ void store_k(const int* idx, unsigned mask, unsigned* out){ __shared__ __align__(16) unsigned s[4096]; unsigned b=(unsigned)__cvta_generic_to_shared(s)+idx[threadIdx.x]*W; if(mask>>threadIdx.x&1) { st<W>(b,threadIdx.x); out[threadIdx.x]=b; } }
int main(int argc, char** argv){ int n; FILE*f=fopen(argc > 1 ? argv[1] : "patterns.txt","r"); if(fscanf(f,"%d",&n)!=1) return 1; std::vector<unsigned> m(n); std::vector<int> h(n*32); for(int p=0;p<n;p++){ if(fscanf(f,"%u",&m[p])!=1) return 1; for(int i=0;i<32;i++) if(fscanf(f,"%d",&h[p*32+i])!=1) return 1; }
 int* d; unsigned* o; cudaMalloc(&d,n*128); cudaMalloc(&o,128); cudaMemcpy(d,h.data(),n*128,cudaMemcpyHostToDevice);
 for(int p=0;p<n;p++){ load_k<4><<<1,32>>>(d+p*32,m[p],o); load_k<8><<<1,32>>>(d+p*32,m[p],o); load_k<16><<<1,32>>>(d+p*32,m[p],o); store_k<4><<<1,32>>>(d+p*32,m[p],o); store_k<8><<<1,32>>>(d+p*32,m[p],o); store_k<16><<<1,32>>>(d+p*32,m[p],o);}
 cudaDeviceSynchronize(); printf("%s\n",cudaGetErrorString(cudaGetLastError())); }
