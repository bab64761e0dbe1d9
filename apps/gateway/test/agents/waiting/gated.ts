// Records its call in the folder that the message names, and answers once a file `go` exists there.
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { NormalizedMessage } from '@postern/message'

export async function handle(message: NormalizedMessage): Promise<string> {
  const [part] = message.parts
  const folder = /(\/\S+)/.exec(part?.kind === 'text' ? part.content : '')?.[1] ?? ''
  appendFileSync(join(folder, 'calls'), `${message.id}\n`)
  while (!existsSync(join(folder, 'go'))) await delay(50)
  return 'let through'
}
