#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 node --max-semi-space-size=8 --min-semi-space-size=4
// The program of the npm package: `npm run package` puts this file beside the bundle.
import { isAtLeast, launch, minimumNode } from './launch.mjs'

if (isAtLeast(minimumNode)) await launch(() => import('../dist/main.js'))
else {
  console.error(
    `Postern needs Node ${minimumNode} or later; this is ${process.version}. Install a newer one from https://nodejs.org.`,
  )
  process.exitCode = 1
}
