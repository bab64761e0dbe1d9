// A thread does not take over the compile cache of its parent. Without one it loads the compiler that strips types, which costs it
// 10 MB and more than a second.
import { enableCompileCache, flushCompileCache } from 'node:module'

enableCompileCache()
await import('./worker.ts')
flushCompileCache()
