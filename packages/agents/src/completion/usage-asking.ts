import type { StreamAnswer } from '@postern/core'
import { parseJsonText } from '@postern/core'
import { findModelError, isContentRefused } from './model-error.ts'

/** Whether the server of a model is asked what its answers cost. */
export interface UsageAsking {
  /** Whether what it tells is read. */
  readonly isWanted: boolean
  /** Members of a request that ask for it; none once they were refused. */
  members(): object | undefined
  /** Whether a complaint may be about having been asked. */
  mayBeRefused(complaint: string): boolean
  accept(): void
  refuse(): void
}

/** `asks`: a stream has to be asked; whole answers tell by themselves. */
export function createUsageAsking({
  isWanted,
  asks,
}: {
  readonly isWanted: boolean
  readonly asks: boolean
}): UsageAsking {
  let state: 'unknown' | 'accepted' | 'refused' = 'unknown'
  return {
    isWanted,
    members: () => (isWanted && asks && state !== 'refused' ? { stream_options: { include_usage: true } } : undefined),
    mayBeRefused(complaint) {
      if (/stream_options|include_usage/.test(complaint)) return true
      // Who has taken it before complains of something else, and so does a filter of contents.
      return state === 'unknown' && !isContentRefused(findModelError(parseLeniently(complaint)))
    },
    accept() {
      state = 'accepted'
    },
    refuse() {
      state = 'refused'
    },
  }
}

/** Older Azure, vLLM and strict proxies say 400, Mistral (openai/openai-agents-python#442) 422. */
const refusals: ReadonlySet<number> = new Set([400, 422])

/** A server that does not want to be asked is asked without it, now and from then on. */
export async function postAsking(
  post: (more: object) => Promise<StreamAnswer>,
  asking: UsageAsking,
  readText: (body: StreamAnswer['body']) => Promise<string>,
): Promise<StreamAnswer> {
  const members = asking.members()
  if (!members) return post({})
  const answer = await post(members)
  if (answer.status === 200) asking.accept()
  if (!refusals.has(answer.status)) return answer
  const complaint = await readText(answer.body)
  if (!asking.mayBeRefused(complaint)) return { ...answer, body: repeat(complaint) }
  const again = await post({})
  if (again.status === 200) asking.refuse()
  return again
}

async function* repeat(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text)
}

export function parseLeniently(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch {
    return undefined
  }
}
