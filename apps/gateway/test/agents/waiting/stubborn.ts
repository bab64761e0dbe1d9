import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NormalizedMessage } from '@postern/core'

/** Answers with what it was told; the first who asks it to `hang` never hears of it, and leaves a mark in the folder named behind. */
export async function handle(message: NormalizedMessage): Promise<string> {
  const [part] = message.parts
  const text = part?.kind === 'text' ? part.content : ''
  const folder = /^hang (.+)$/.exec(text)?.[1]
  if (folder !== undefined && !existsSync(join(folder, 'hung'))) {
    writeFileSync(join(folder, 'hung'), '')
    await new Promise(() => setInterval(() => {}, 1_000))
  }
  return `heard ${text}`
}
