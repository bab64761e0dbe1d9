/** `npm run sbom`: the bill of materials of the gateway, on standard output. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readVersion } from './changelog.ts'
import { createBom, readLock } from './licences.ts'

const root = join(import.meta.dirname, '../..')
const version = readVersion('package.json', readFileSync(join(root, 'package.json'), 'utf8')) ?? ''
console.log(JSON.stringify(createBom(readLock(root), { version, now: Date.now() }), null, 2))
