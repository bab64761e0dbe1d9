// Judges the ActivityPub actor: its id, type, username, inbox and key.
import { createPublicKey } from 'node:crypto'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import type { PeerView } from '../view/peer.ts'
import { findActorLink } from '../view/peer.ts'
import type { FetchedObject } from '../view/peer-fetch.ts'
import { isHttps, listOrEmpty, objectOrUndefined, quote, textOrUndefined } from '../view/peer-fetch.ts'
import type { AddressCheck } from './row.ts'
import { judgeAvailability } from './row.ts'

type JudgeActor = (actor: FetchedObject, view: PeerView) => Verdict | undefined

const withActor =
  (judge: JudgeActor): AddressCheck['judge'] =>
  view =>
    view.actor?.document && judge(view.actor.document, view)
const actorTypes: ReadonlySet<unknown> = new Set(['Application', 'Group', 'Organization', 'Person', 'Service'])

export const actorRows: readonly AddressCheck[] = [
  { id: 'actor.answer', section: 'ActivityPub §3.2', judge: judgeDocument },
  { id: 'actor.id', section: 'ActivityPub §3.1', judge: withActor(judgeId) },
  { id: 'actor.type', section: 'ActivityStreams §3', judge: withActor(judgeType) },
  { id: 'actor.username', section: '§13.3', judge: withActor(judgeUsername) },
  { id: 'actor.back_link', section: '§13.3', judge: withActor(judgeBackLink) },
  { id: 'actor.inbox', section: 'ActivityPub §4.1', judge: withActor(judgeInbox) },
  { id: 'actor.key', section: 'Linked Data Security', judge: withActor(judgeKey) },
]

function judgeDocument({ actor }: PeerView): Verdict | undefined {
  if (!actor) return undefined
  if (actor.status === 401 || actor.status === 403)
    return warning(
      'the host shows the actor only to signed requests, so it was not checked',
      'Nothing is wrong; peers that do not sign cannot read it.',
    )
  return judgeAvailability(actor, 'the actor', 'Serve the actor there as application/activity+json.')
}

function judgeId({ id }: FetchedObject, { links }: PeerView): Verdict {
  const href = findActorLink(links)?.href
  return id === href
    ? ok(`the actor is ${href}`)
    : failure(`the actor calls itself ${quote(id)}, the link ${quote(href)}`, 'Let both be the same.')
}

function judgeType({ type }: FetchedObject): Verdict | undefined {
  if (listOrEmpty(Array.isArray(type) ? type : [type]).some(actorType => actorTypes.has(actorType))) return undefined
  return failure(`${quote(type)} is not a type of actor`, 'An agent is a "Service".')
}

function judgeUsername({ preferredUsername: name }: FetchedObject, { address }: PeerView): Verdict {
  return textOrUndefined(name)?.toLowerCase() === address.local
    ? ok(`preferredUsername is ${name}`)
    : failure(
        `preferredUsername is ${quote(name)}, not ${address.local}`,
        'Set it to the name of the address, because servers show it as the account.',
      )
}

/** Judges WebFinger at the actor’s host. If the host differs from the address’s domain, both must name the same account. */
function judgeBackLink({ id }: FetchedObject, { backLink, account }: PeerView): Verdict | undefined {
  if (!backLink) return undefined
  const subject = textOrUndefined(backLink.document?.subject)?.toLowerCase()
  const selfLinks = listOrEmpty(backLink.document?.links)
    .map(objectOrUndefined)
    .find(link => link?.rel === 'self' && link.href === id)
  if (subject === account && selfLinks) return ok(`the actor's own host names ${account}, too`)
  return failure(
    `the actor's own host does not name ${account} (${backLink.error ?? (backLink.status === 200 ? quote(subject) : backLink.status)})`,
    "Let WebFinger at the actor's host answer with the same subject and actor.",
  )
}

function judgeInbox({ inbox }: FetchedObject): Verdict {
  return isHttps(inbox)
    ? ok(`the inbox is ${inbox}`)
    : failure(`the inbox is ${quote(inbox)}`, 'Set it to an https address.')
}

function judgeKey({ publicKey }: FetchedObject, { links }: PeerView): Verdict {
  const fix = 'Publish an RSA key of 2048 bits or more as "publicKey" with "id", "owner" and "publicKeyPem".'
  const keys = (Array.isArray(publicKey) ? listOrEmpty(publicKey) : [publicKey]).map(objectOrUndefined)
  const actorKey = keys.find(key => key?.owner === findActorLink(links)?.href && textOrUndefined(key?.id))
  if (!actorKey) return failure('the actor has no key of its own: nothing it sends can be verified', fix)
  const bits = readKeyBits(textOrUndefined(actorKey.publicKeyPem) ?? '')
  if (bits === undefined) return failure(`the key ${quote(actorKey.id)} cannot be read`, fix)
  return bits === 'other' || bits >= 2048
    ? ok(`it signs with ${actorKey.id}`)
    : failure(`the key has ${bits} bits`, fix)
}

function readKeyBits(pem: string): number | 'other' | undefined {
  try {
    return createPublicKey(pem).asymmetricKeyDetails?.modulusLength ?? 'other'
  } catch {
    return undefined
  }
}
