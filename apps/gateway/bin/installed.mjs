#!/usr/bin/env node
// The program of the npm package: `npm run package` puts this file beside the bundle.
import { isAtLeast, launch, minimumNode } from './launch.mjs'

if (isAtLeast(minimumNode)) await launch(() => import('../dist/main.js'))
else {
  console.error(
    `Postern needs Node ${minimumNode} or later; this is ${process.version}. Install a newer one from https://nodejs.org.`,
  )
  process.exitCode = 1
}
