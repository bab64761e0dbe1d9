// Repeats messages, but gives no answer to the first message that says `hang`.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NormalizedMessage } from '@postern/message'

/** Repeats the message. The first message that says `hang` gets no answer, and leaves a mark in the folder that its text names. */
export async function handle(message: NormalizedMessage): Promise<string> {
  const [part] = message.parts
  const text = part?.kind === 'text' ? part.content : ''
  const folder = /^hang (.+)$/.exec(text)?.[1]
  if (folder !== undefined && !existsSync(join(folder, 'hung'))) {
    writeFileSync(join(folder, 'hung'), '')
    // The interval keeps the process alive.
    await new Promise(() => setInterval(() => {}, 1_000))
  }
  return `heard ${text}`
}
