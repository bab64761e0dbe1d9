import type { GuardedFetch, Platform, Rehearsal, RehearsedCall } from '@postern/core'
import { randomHex, Unavailable, Undeliverable } from '@postern/core'
import { signRequest } from './deliver.ts'
import { activityJson, activityStreams, agentIris } from './format/document.ts'
import type { KeyRing } from './keys/key-generations.ts'

interface RehearseDeps {
  readonly keys: Pick<KeyRing, 'find'>
  readonly origin: string
  readonly platform: Pick<Platform, 'now' | 'randomBytes'>
}

type Headers = Readonly<Record<string, string>>

/** Posts an activity of a kind that has no effect here (`View`) to an agent's inbox: signed by the agent's own key, and with the signature spoilt. */
export async function rehearseInbox(agent: string, fetch: GuardedFetch, deps: RehearseDeps): Promise<Rehearsal> {
  const { keys, origin, platform } = deps
  const { actor, inbox } = agentIris(origin, agent)
  const id = `${actor}#rehearsal-${randomHex(platform, 8)}`
  const activity = { '@context': activityStreams, id, type: 'View', actor, object: actor, to: [actor] }
  const bytes = Buffer.from(JSON.stringify(activity))
  const { request } = await keys.find(actor)
  const body = { bytes, type: activityJson }
  const headers = await signRequest({ method: 'POST', url: inbox, now: platform.now(), body }, request)
  const post = (sent: Headers, isRight: (status: number) => boolean) =>
    postOnce(() => fetch(inbox, { method: 'POST', headers: sent, body: bytes, timeoutMs: 8_000 }), isRight)
  const [proven, forged] = await Promise.all([
    post(headers, status => status >= 200 && status < 300),
    post(spoilSignature(headers), status => status === 401),
  ])
  return { endpoint: inbox, proven, forged }
}

async function postOnce(
  send: () => ReturnType<GuardedFetch>,
  isRight: (status: number) => boolean,
): Promise<RehearsedCall> {
  try {
    const { status } = await send()
    return { isRight: isRight(status), answer: `it answers ${status}` }
  } catch (error) {
    if (error instanceof Unavailable || error instanceof Undeliverable) return { isRight: false, answer: error.message }
    throw error
  }
}

/** Well-formed, and of the right length. */
function spoilSignature(headers: Headers): Headers {
  const signature = headers.signature?.replace(
    /signature="(.)/,
    (_, first) => `signature="${first === 'A' ? 'B' : 'A'}`,
  )
  return { ...headers, ...(signature !== undefined && { signature }) }
}
