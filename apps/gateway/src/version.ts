import { readFileSync } from 'node:fs'

/** As in the manifest of this program. */
export const softwareVersion: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version
