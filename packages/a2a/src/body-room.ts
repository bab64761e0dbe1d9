import { networkOf, readBody } from '@postern/http'
import type { LargeAnswers } from './large-answers.ts'
import { createLargeAnswers } from './large-answers.ts'
import type { Caller } from './principal.ts'

/** Who sends a body. */
export interface BodySender {
  readonly caller: Pick<Caller, 'owner' | 'isAnonymous'>
  /** The peer's network address. */
  readonly from: string
}

/**
 * Reads bodies. A large one is held while it comes, and whoever sends may take his time over it: so many bytes of them are on their way from one
 * caller at a time, and so many in all.
 * @throws Rejection `rate_limited`, and those of `readBody`
 */
export type TakeBody = (request: Request, maxBytes: number, sender: BodySender) => Promise<Uint8Array>

const bounds = { largeFrom: 64 * 1024, perCaller: 32 * 1024 * 1024, all: 256 * 1024 * 1024 } as const
const refusal = 'Cannot take request: too many large ones are on their way'

/** What comes without declared length is counted in steps as it comes. */
const step = 256 * 1024

export function createBodyRoom({ hold }: Pick<LargeAnswers, 'hold'> = createLargeAnswers(bounds, refusal)): TakeBody {
  return async function takeBodyInTurn(request, maxBytes, sender) {
    const owner = ownerOfBody(sender)
    const declared = Number(request.headers.get('content-length') ?? 0)
    // What says that it is too large, or nothing sensible, is refused unread.
    const held = [hold(declared <= maxBytes ? declared : 0, owner)]
    const onSize = (size: number) => {
      if (size >= bounds.largeFrom + (held.length - 1) * step) held.push(hold(step, owner))
    }
    try {
      return await readBody(request, maxBytes, onSize)
    } finally {
      for (const giveBack of held) giveBack()
    }
  }
}

function ownerOfBody({ caller, from }: BodySender): string {
  return caller.isAnonymous ? `${caller.owner} ${networkOf(from)}` : caller.owner
}
