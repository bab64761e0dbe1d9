// Runs Discourse's corpus of replies.
import { readdirSync, readFileSync } from 'node:fs'
import { trimReply } from '../../src/body/trim-reply.ts'
import type { ScoredCase } from './score.ts'

/** Scores the trimming of replies on Discourse's corpus. The new text must match exactly, except for white space at its ends. */
export async function scoreReplies(folder: URL): Promise<readonly ScoredCase[]> {
  return readdirSync(folder).map(name => {
    const text = readFileSync(new URL(name, folder), 'utf8').replace(/\r\n/g, '\n')
    const expected = readFileSync(new URL(`../trimmed/${name}`, folder), 'utf8')
      .replace(/\r\n/g, '\n')
      .trim()
    const reply = trimReply(text).trim()
    const note = reply.length > expected.length ? 'kept too much' : 'cut too much'
    return { name, hasPassed: reply === expected, note }
  })
}
