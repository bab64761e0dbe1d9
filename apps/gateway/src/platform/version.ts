import { readFileSync } from 'node:fs'
import { parseJsonText } from '@postern/core'

/** As in the manifest of this program. */
export const softwareVersion: string = (
  parseJsonText(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version
