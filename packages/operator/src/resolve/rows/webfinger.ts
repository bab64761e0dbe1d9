// Judges the WebFinger document of an address (MN-1.3).
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import type { Link, PeerView } from '../view/peer.ts'
import { cardRel, findActorLink, findCardLink, findLink, legacyCardRel, pageRel } from '../view/peer.ts'
import { quote } from '../view/peer-fetch.ts'
import type { AddressCheck } from './row.ts'
import { judgeAvailability } from './row.ts'

const publishFix = 'Answer at the root of the domain, /.well-known/webfinger, with the JRD of this account.'
/** The normative order of the links, by relation (MN-1.3). */
const relationOrder: readonly (string | undefined)[] = ['self', cardRel, pageRel, 'mailto']
const narrowName = /^[a-z0-9_.-]{1,64}$/

/** Wraps a check of the JRD, which does not apply if there is none. */
const withJrd =
  (judge: AddressCheck['judge']): AddressCheck['judge'] =>
  view =>
    view.webfinger.document ? judge(view) : undefined

export const webFingerRows: readonly AddressCheck[] = [
  { id: 'address.grammar', section: '§1.2', judge: judgeName },
  {
    id: 'webfinger.answer',
    section: '§1.3',
    judge: ({ webfinger }) => judgeAvailability(webfinger, 'WebFinger', publishFix),
  },
  { id: 'webfinger.redirect', section: '§1.3', judge: withJrd(judgeRedirect) },
  { id: 'webfinger.type', section: 'RFC 7033 §10.2', judge: withJrd(judgeType) },
  { id: 'webfinger.subject', section: '§1.3', judge: withJrd(judgeSubject) },
  { id: 'webfinger.aliases', section: '§1.3', judge: withJrd(judgeAliases) },
  { id: 'webfinger.card', section: '§1.3', judge: withJrd(judgeCardLink) },
  { id: 'webfinger.legacy_rel', section: '§1.3', judge: withJrd(judgeLegacy) },
  { id: 'webfinger.order', section: '§1.3', judge: withJrd(judgeOrder) },
  { id: 'webfinger.https', section: '§1.3', judge: withJrd(judgeHttps) },
  { id: 'webfinger.types', section: '§1.3', judge: withJrd(judgeLinkTypes) },
]

function judgeName({ address }: PeerView): Verdict {
  if (narrowName.test(address.local)) return ok(`the address is @${address.local}@${address.domain}`)
  return warning(
    `the name ${quote(address.local)} has characters outside of [a-z0-9_.-], which some readers refuse`,
    'Give the agent a name of a-z, 0-9, "_", "." and "-".',
  )
}

function judgeRedirect({ webfinger: { redirectUrls } }: PeerView): Verdict | undefined {
  return redirectUrls.length > 0 ? ok(`one redirect, to ${redirectUrls[0]}`) : undefined
}

function judgeType({ webfinger: { type } }: PeerView): Verdict {
  if (type === 'application/jrd+json') return ok('the content type is application/jrd+json')
  const fix = 'Serve it as application/jrd+json.'
  const message = `the content type is ${quote(type)}, not application/jrd+json`
  return type === 'application/json' ? warning(message, fix) : failure(message, fix)
}

function judgeSubject({ webfinger, account }: PeerView): Verdict {
  const subject = webfinger.document?.subject
  if (typeof subject === 'string' && subject.toLowerCase() === account) return ok(`the subject is ${account}`)
  return failure(
    `the subject is ${quote(subject)}, not ${account}: resolvers refuse the answer`,
    'Answer with the requested account, or give people the address that the subject names.',
  )
}

function judgeAliases({ webfinger }: PeerView): Verdict | undefined {
  const aliases = webfinger.document?.aliases
  if (Array.isArray(aliases) && aliases.every(alias => typeof alias === 'string')) return undefined
  return warning('the JRD has no "aliases"', 'List the addresses of its actor or page there.')
}

function judgeCardLink({ links }: PeerView): Verdict {
  const link = findCardLink(links)
  if (link)
    return link.href
      ? ok(`the agent card is at ${link.href}`)
      : failure('the link to the agent card has no "href"', 'Set it.')
  const fix = `Add a link of rel ${cardRel} to its agent card.`
  return findActorLink(links)
    ? warning('no agent card: this is a fediverse account, not an agent of this system', fix)
    : failure('no agent card, which every agent has', fix)
}

function judgeLegacy({ links }: PeerView): Verdict | undefined {
  if (!findLink(links, legacyCardRel)) return undefined
  return warning(
    `the JRD has the old relation ${legacyCardRel}, which must not be published any longer`,
    `Publish ${cardRel} instead.`,
  )
}

function judgeOrder({ links }: PeerView): Verdict {
  const positions = links
    .map(({ rel }) => relationOrder.indexOf(rel === legacyCardRel ? cardRel : rel))
    .filter(position => position >= 0)
  const isSorted = positions.every((position, index) => index === 0 || position >= (positions[index - 1] ?? 0))
  return isSorted
    ? ok('the links are in the normative order')
    : warning('the links are not in the normative order', 'Order them: self, agent card, profile page, mailto.')
}

function judgeHttps({ links }: PeerView): Verdict {
  const plainLinks = links.filter(isPlain)
  if (plainLinks.length === 0) return ok('every address is https')
  return failure(
    `not https: ${plainLinks.map(({ href }) => quote(href)).join(', ')}`,
    'Use https for every address except mailto:.',
  )
}

function isPlain({ href }: Link): boolean {
  return href !== undefined && !/^(https|mailto):/i.test(href)
}

/** The media type of each relation’s target (MN-1.3). Other relations, such as subscription templates, have no rule. */
const linkTypes: readonly (readonly [rel: string, type: RegExp])[] = [
  ['self', /^application\/(activity\+json|ld\+json)/i],
  [cardRel, /^application\/json/i],
  [pageRel, /^text\/html/i],
]

function judgeLinkTypes({ links }: PeerView): Verdict {
  const wrongTypes = linkTypes.flatMap(([rel, expected]) => {
    const link = findLink(links, rel)
    return link && !expected.test(link.type ?? '') ? [`${rel}: ${quote(link.type)}`] : []
  })
  return wrongTypes.length === 0
    ? ok('the links name their types')
    : warning(`links of an unexpected type: ${wrongTypes.join(', ')}`, 'Name the type of each target.')
}
