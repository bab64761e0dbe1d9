// Judges the A2A cards of an agent and its host.
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import type { A2aCardView, A2aView } from '../view/a2a.ts'
import type { AddressCheck } from './row.ts'

type CardKind = keyof A2aView

const cardNames: Readonly<Record<CardKind, string>> = {
  agent: 'the A2A card of the agent',
  host: 'the A2A card of the host',
}
const fixes: Readonly<Record<CardKind, string>> = {
  agent: 'Let "a2a.card_url" of the agent card name it, or set "a2a.endpoint" and the transport https+jsonrpc.',
  host: 'Serve the card of the default agent at /.well-known/agent-card.json.',
}

const withA2aCard =
  (kind: CardKind, judge: (card: A2aCardView, kind: CardKind) => Verdict | undefined): AddressCheck['judge'] =>
  ({ a2a }) =>
    a2a && judge(a2a[kind], kind)

/** Rows about the cards, as the gateway’s own client reads them. */
export const a2aRows: readonly AddressCheck[] = (['agent', 'host'] as const).flatMap((kind): AddressCheck[] => [
  { id: `a2a.${kind}_card`, section: kind === 'host' ? '§1.5' : 'A2A §8', judge: withA2aCard(kind, judgeCard) },
  { id: `a2a.${kind}_interface`, section: 'A2A §8.3', judge: withA2aCard(kind, judgeInterface) },
  { id: `a2a.${kind}_signature`, section: 'A2A §8.4', judge: withA2aCard(kind, judgeSignature) },
])

/** Judges a card. A missing card of the host is only a warning, because it is not required. */
function judgeCard({ error, url }: A2aCardView, kind: CardKind): Verdict {
  if (error === undefined) return ok(`${cardNames[kind]} is at ${url}`)
  const judge = kind === 'host' ? warning : failure
  return judge(`${cardNames[kind]} cannot be used: ${error}`, fixes[kind])
}

function judgeInterface({ error, interface: callInterface, interfaceError }: A2aCardView): Verdict | undefined {
  if (error !== undefined) return undefined
  if (!callInterface)
    return failure(
      `callers cannot use it: ${interfaceError}`,
      'Offer JSONRPC or HTTP+JSON 1.0 at the origin of the card.',
    )
  return ok(
    `${callInterface.binding} at ${callInterface.url}${callInterface.needsCredential ? ', with a credential' : ''}`,
  )
}

function judgeSignature({ error, signedBy, signatureError }: A2aCardView): Verdict | undefined {
  if (error !== undefined) return undefined
  if (signatureError !== undefined)
    return failure(
      `its signature is not valid: ${signatureError}`,
      'Sign the card with a key of /.well-known/jwks.json.',
    )
  return signedBy === undefined
    ? warning('the card is not signed', 'Sign it (A2A §8.4), so that callers notice changes by others.')
    : ok(`signed by ${signedBy}`)
}
