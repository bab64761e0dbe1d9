// Signs an activity and posts it to an inbox, with the requested fault.
import type { LoopbackAnswer, LoopbackFetch } from '../net/loopback-fetch.ts'
import type { SimActor } from './actors/actor.ts'
import type { NoteFault } from './actors/note.ts'
import type { DraftRequest } from './signatures/sign.ts'
import { draftHeaders, signDraft } from './signatures/sign.ts'

export interface PostDeps {
  readonly actors: ReadonlyMap<string, SimActor>
  readonly loopback: LoopbackFetch
  now(): number
}

export interface PostContext {
  readonly activity: Readonly<Record<string, unknown>>
  readonly author: SimActor
  /** The address of the inbox. */
  readonly url: string
  readonly fault: NoteFault
  /** The padding of the fault `oversized`, in bytes. Default: 2 MiB. */
  readonly oversizedBytes?: number | undefined
}

/** Signs and posts one activity, with its fault. */
export async function postSigned(context: PostContext, deps: PostDeps): Promise<LoopbackAnswer> {
  const { activity, url, fault, author, oversizedBytes = 2 ** 21 } = context
  const octets = fault.encode?.(activity, oversizedBytes) ?? Buffer.from(JSON.stringify(activity))
  const draft = { method: 'POST', url, body: octets, at: deps.now() + (fault.dateShiftMs ?? 0) } as const
  const headers = await signWithFault(draft, fault, author, deps)
  const post = () =>
    deps.loopback.request(url, { method: 'POST', headers, body: fault.alter?.(octets) ?? octets, timeoutMs: 30_000 })
  if (fault.isSentTwice) await post()
  return post()
}

async function signWithFault(
  draft: DraftRequest,
  fault: NoteFault,
  author: SimActor,
  deps: PostDeps,
): Promise<Record<string, string>> {
  if (fault.isUnsigned) return draftHeaders(draft, author)
  const signer = fault.signer ? findActor(fault.signer, deps) : author
  const strangerKey = fault.keyOf ? await findActor(fault.keyOf, deps).key() : undefined
  return signDraft(draft, signer, strangerKey?.privatePem)
}

/** @throws Error if nobody here has this address */
export function findActor(address: string, { actors }: Pick<PostDeps, 'actors'>): SimActor {
  const actor = actors.get(bareAddress(address))
  if (!actor) throw new Error(`Nobody is called ${address} here; there are ${[...actors.keys()].join(', ')}`)
  return actor
}

/** Strips the prefix of an address: `@echo@agents.test` and `acct:echo@agents.test` become `echo@agents.test`. */
export function bareAddress(address: string): string {
  return address.replace(/^acct:/, '').replace(/^@/, '')
}
