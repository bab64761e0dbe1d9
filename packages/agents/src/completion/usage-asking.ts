import type { StreamAnswer } from '@postern/core'
import { parseIfJson } from '@postern/core'
import { findModelError, isContentRefused } from './model-error.ts'

/** Whether to ask a model's server what its answers cost. */
export interface UsageAsking {
  /** Whether what it tells is read. */
  readonly isWanted: boolean
  /** Members of a request that ask for it; none after a refusal. */
  members(): object | undefined
  /** Whether an error may be about these members. */
  mayBeRefused(complaint: string): boolean
  accept(): void
  refuse(): void
}

/** `asks`: a stream needs the members; whole answers contain the cost anyway. */
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
      // A server that accepted them before has another reason, and so has a content filter.
      return state === 'unknown' && !isContentRefused(findModelError(parseIfJson(complaint)))
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

/** A server that refuses the members gets requests without them, now and later. */
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
