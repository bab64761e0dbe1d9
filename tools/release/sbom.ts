// Prints the bill of materials of the gateway (`npm run sbom`).
import { join } from 'node:path'
import { readRootManifest } from '../package/stage/publication.ts'
import { createBom, readLock } from './licences.ts'

const root = join(import.meta.dirname, '../..')
const { version } = readRootManifest(root)
console.log(JSON.stringify(createBom(readLock(root), { version, now: Date.now() }), null, 2))
