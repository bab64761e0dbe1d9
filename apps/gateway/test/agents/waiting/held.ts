// Repeats the message once a file no longer holds it, for tests that kill the process.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

const directory = process.env.HELD_DIRECTORY ?? ''

/**
 * Repeats the message, but waits while the file `held` contains one of its words. The file `begun` lists each run, and `ended` each aborted
 * run.
 */
export async function handle({ parts }: NormalizedMessage, { signal }: AgentContext): Promise<string> {
  const text = parts.map(part => (part.kind === 'text' ? part.content.trim() : part.kind)).join(' + ')
  appendFileSync(join(directory, 'begun'), `${text}\n`)
  const isHeld = () => readHeld().some(word => text.includes(word))
  signal.addEventListener('abort', () => appendFileSync(join(directory, 'ended'), `${text}\n`))
  while (isHeld()) await pause(10, undefined, { signal })
  return `heard ${text}`
}

function readHeld(): readonly string[] {
  const path = join(directory, 'held')
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
}
