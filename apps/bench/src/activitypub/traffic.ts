import { gatewayHost } from '../ours/describe.ts'
import { formatCreateNote } from './create-note.ts'
import type { Fediverse } from './fediverse.ts'
import { openFediverse } from './fediverse.ts'
import type { TrafficSender } from './senders.ts'
import { createSenders } from './senders.ts'
import { signDelivery } from './sign-delivery.ts'
import { signMessageDelivery } from './sign-message.ts'

/** People on Mastodon-like servers who write to one agent, each post the first of a conversation of its own. */
export interface Traffic {
  readonly senders: readonly TrafficSender[]
  readonly fediverse: Fediverse
  /** Signed requests, never made before. */
  prepare(count: number, scheme?: SigningScheme): Promise<readonly Uint8Array[]>
}

interface TrafficOptions {
  readonly agent: string
  readonly senders: number
  readonly keys?: 'rsa' | 'ed25519'
}

type SigningScheme = 'cavage' | 'rfc9421'

const signers = { cavage: signDelivery, rfc9421: signMessageDelivery } as const
/** Different in every run: some servers under measurement outlive one. */
const firstSerial = Date.now() * 1000

export async function openTraffic({ agent, senders: count, keys = 'rsa' }: TrafficOptions): Promise<Traffic> {
  const senders = await createSenders(count, keys)
  const addressee = addressAgent(agent)
  const target = { host: gatewayHost, path: `/agents/${agent}/inbox` }
  let made = 0
  const signOne = (scheme: SigningScheme): Promise<Uint8Array> => {
    const number = made++
    const sender = senders[number % senders.length] as TrafficSender
    return signers[scheme](sender, target, formatCreateNote(sender, addressee, String(firstSerial + number)))
  }
  return {
    senders,
    fediverse: await openFediverse(senders),
    prepare: (length, scheme = keys === 'rsa' ? 'cavage' : 'rfc9421') =>
      Promise.all(Array.from({ length }, () => signOne(scheme))),
  }
}

export function addressAgent(agent: string): { readonly actorId: string; readonly handle: string } {
  return { actorId: `https://${gatewayHost}/agents/${agent}`, handle: `@${agent}@${gatewayHost}` }
}
