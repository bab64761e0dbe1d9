// Signs an activity and posts it to an inbox, with the requested fault.
import type { LoopbackAnswer, LoopbackFetch } from '../net/loopback-fetch.ts'
import type { SimActor } from './actors/actor.ts'
import type { NoteFault } from './actors/note.ts'
import type { RequestDraft } from './signatures/sign.ts'
import { createUnsignedHeaders, signRequest } from './signatures/sign.ts'

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
  const { activity, url, fault, oversizedBytes = 2 ** 21 } = context
  const octets = fault.encode?.(activity, oversizedBytes) ?? Buffer.from(JSON.stringify(activity))
  const draft = { method: 'POST', url, body: octets, sentAt: deps.now() + (fault.dateShiftMs ?? 0) } as const
  const headers = await signWithFault(draft, context, deps)
  const post = () =>
    deps.loopback.request(url, { method: 'POST', headers, body: fault.alter?.(octets) ?? octets, timeoutMs: 30_000 })
  if (fault.isSentTwice) await post()
  return post()
}

async function signWithFault(
  draft: RequestDraft,
  { fault, author }: Pick<PostContext, 'fault' | 'author'>,
  deps: PostDeps,
): Promise<Record<string, string>> {
  if (fault.isUnsigned) return createUnsignedHeaders(draft, author)
  const signer = fault.signer ? findActor(fault.signer, deps) : author
  const otherKey = fault.keyOf ? await findActor(fault.keyOf, deps).key() : undefined
  return signRequest(draft, signer, otherKey?.privatePem)
}

/** Finds the actor with this address. @throws Error if no simulated actor has it */
export function findActor(address: string, { actors }: Pick<PostDeps, 'actors'>): SimActor {
  const actor = actors.get(stripAddressPrefix(address))
  if (!actor) throw new Error(`Nobody is called ${address} here; there are ${[...actors.keys()].join(', ')}`)
  return actor
}

/** Strips the prefix of an address. `@echo@agents.test` and `acct:echo@agents.test` become `echo@agents.test`. */
export function stripAddressPrefix(address: string): string {
  return address.replace(/^acct:/, '').replace(/^@/, '')
}
