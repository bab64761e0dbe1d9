// Judges the A2A cards of an agent and its host.
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import type { A2aView, ReadCard } from '../view/a2a.ts'
import type { AddressCheck } from './row.ts'

type Which = keyof A2aView

const cardNames: Readonly<Record<Which, string>> = {
  agent: 'the A2A card of the agent',
  host: 'the A2A card of the host',
}
const fixes: Readonly<Record<Which, string>> = {
  agent: 'Let "a2a.card_url" of the agent card name it, or set "a2a.endpoint" and the transport https+jsonrpc.',
  host: 'Serve the card of the default agent at /.well-known/agent-card.json.',
}

const withA2aCard =
  (which: Which, judge: (card: ReadCard, which: Which) => Verdict | undefined): AddressCheck['judge'] =>
  ({ a2a }) =>
    a2a && judge(a2a[which], which)

/** Rows about the cards, as the gateway’s own client reads them. */
export const a2aRows: readonly AddressCheck[] = (['agent', 'host'] as const).flatMap((which): AddressCheck[] => [
  { id: `a2a.${which}_card`, section: which === 'host' ? '§1.5' : 'A2A §8', judge: withA2aCard(which, judgeCard) },
  { id: `a2a.${which}_interface`, section: 'A2A §8.3', judge: withA2aCard(which, judgeInterface) },
  { id: `a2a.${which}_signature`, section: 'A2A §8.4', judge: withA2aCard(which, judgeSignature) },
])

/** Judges a card. A missing card of the host is only a warning, because it is not required. */
function judgeCard({ fault, url }: ReadCard, which: Which): Verdict {
  if (fault === undefined) return ok(`${cardNames[which]} is at ${url}`)
  const judge = which === 'host' ? warning : failure
  return judge(`${cardNames[which]} cannot be used: ${fault}`, fixes[which])
}

function judgeInterface({ fault, interface: offer, interfaceFault }: ReadCard): Verdict | undefined {
  if (fault !== undefined) return undefined
  if (!offer)
    return failure(
      `callers cannot use it: ${interfaceFault}`,
      'Offer JSONRPC or HTTP+JSON 1.0 at the origin of the card.',
    )
  return ok(`${offer.binding} at ${offer.url}${offer.needsCredential ? ', with a credential' : ''}`)
}

function judgeSignature({ fault, signedBy, signatureFault }: ReadCard): Verdict | undefined {
  if (fault !== undefined) return undefined
  if (signatureFault !== undefined)
    return failure(
      `its signature is not valid: ${signatureFault}`,
      'Sign the card with a key of /.well-known/jwks.json.',
    )
  return signedBy === undefined
    ? warning('the card is not signed', 'Sign it (A2A §8.4), so that callers notice changes by others.')
    : ok(`signed by ${signedBy}`)
}
