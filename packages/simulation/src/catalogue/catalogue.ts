// Lists everything that the simulation can send, with the outcome that a correct gateway must show.
import type { Fault, TokenOnlyFault } from '../fault.ts'
import type { NoteVisibility } from '../fediverse/actors/note.ts'
import { noteVisibilities } from '../fediverse/actors/note.ts'
import type { SendFault, SendRequest } from '../send.ts'
import type { CataloguePersona, ExpectedOutcome } from './personas.ts'
import { answeredOutcome, cataloguePersonas, keptOutcome, laterOutcome, refusedOutcome } from './personas.ts'

/** The outcome of a fault. `honest` and `unproven` refer to the outcomes of the persona. */
type FaultOutcome = ExpectedOutcome | 'honest' | 'unproven'

/** Descriptions of the faults of a message. */
const faultDescriptions: Readonly<Record<SendFault, string>> = {
  unsigned: 'without signature or token; mail is still proven by SPF',
  tampered: 'changed after it was signed',
  forged: "signed with somebody else's key under the sender's name",
  expired: 'signed two days ago',
  replayed: 'sent twice; a call with the same id and another text',
  wrong_owner: 'signed by somebody else, openly; a token for another service',
  oversized: 'larger than the gateway takes',
  deep: 'nested deeper than the gateway reads',
  malformed: 'JSON that is cut; a mail with two From fields',
  key_host_down: 'from somebody whose key cannot be fetched',
  unknown_recipient: 'for an agent that does not exist',
  not_yet: 'a token that is valid in two hours',
  wrong_issuer: 'a token of an issuer that nobody trusts',
  alg_none: 'a token without a signature',
}

const refusedUnsigned = refusedOutcome(401, 'unsigned')
const refusedSignature = refusedOutcome(401, 'signature_invalid')
const refusedSize = refusedOutcome(413, 'too_large')

/** The outcome of each fault on each channel. */
const faultOutcomes: Readonly<
  Record<SendRequest['via'], Readonly<Record<Fault, FaultOutcome>> & Partial<Record<TokenOnlyFault, FaultOutcome>>>
> = {
  activitypub: {
    unsigned: refusedUnsigned,
    tampered: refusedSignature,
    forged: refusedSignature,
    expired: refusedOutcome(401, 'expired'),
    replayed: 'honest',
    wrong_owner: refusedOutcome(401, 'signer_mismatch'),
    oversized: refusedSize,
    deep: refusedOutcome(400, 'malformed'),
    malformed: refusedOutcome(400, 'malformed'),
    key_host_down: laterOutcome(503),
    unknown_recipient: refusedOutcome(404, 'no_recipient'),
  },
  a2a: {
    unsigned: refusedUnsigned,
    tampered: refusedSignature,
    forged: refusedSignature,
    expired: refusedOutcome(401, 'expired'),
    replayed: refusedOutcome(200, 'malformed'),
    wrong_owner: refusedSignature,
    oversized: refusedSize,
    deep: refusedOutcome(200, 'malformed'),
    malformed: refusedOutcome(200, 'malformed'),
    key_host_down: laterOutcome(503),
    unknown_recipient: refusedOutcome(404, 'no_recipient'),
    not_yet: refusedSignature,
    wrong_issuer: refusedSignature,
    alg_none: refusedSignature,
  },
  email: {
    unsigned: 'honest',
    tampered: 'unproven',
    forged: 'unproven',
    expired: 'unproven',
    replayed: 'honest',
    wrong_owner: 'unproven',
    oversized: refusedOutcome(552, 'too_large'),
    deep: keptOutcome('mime_limits'),
    malformed: refusedOutcome(554, 'malformed'),
    key_host_down: laterOutcome(451),
    unknown_recipient: refusedOutcome(550, 'no_recipient'),
  },
  web: {
    unsigned: refusedUnsigned,
    tampered: refusedSignature,
    forged: refusedSignature,
    expired: refusedOutcome(401, 'expired'),
    replayed: refusedOutcome(409, 'run_repeated'),
    wrong_owner: refusedSignature,
    oversized: refusedSize,
    deep: refusedOutcome(400, 'malformed'),
    malformed: refusedOutcome(400, 'malformed'),
    key_host_down: laterOutcome(503),
    unknown_recipient: refusedOutcome(404, 'no_recipient'),
    not_yet: refusedSignature,
    wrong_issuer: refusedSignature,
    alg_none: refusedSignature,
  },
}

/** One kind of message that the simulation sends, and its outcome at a gateway with the settings of dev mode. */
export interface CatalogueEntry {
  readonly via: SendRequest['via']
  readonly from: string
  readonly visibility?: NoteVisibility
  readonly fault?: SendFault
  readonly expected: ExpectedOutcome
}

export interface SimulationCatalogue {
  readonly personas: readonly Pick<CataloguePersona, 'via' | 'from' | 'what'>[]
  /** The visibilities by channel. Empty for a channel without visibilities. */
  readonly visibilities: Readonly<Record<SendRequest['via'], readonly NoteVisibility[]>>
  readonly faults: readonly { readonly fault: SendFault; readonly what: string; readonly via: readonly string[] }[]
  /** Every persona with every visibility, and with every fault. */
  readonly entries: readonly CatalogueEntry[]
}

const visibilities: SimulationCatalogue['visibilities'] = {
  activitypub: noteVisibilities,
  a2a: [],
  email: [],
  web: [],
}
const channels = Object.keys(faultOutcomes) as readonly SendRequest['via'][]
const allFaults = Object.keys(faultDescriptions) as readonly SendFault[]

/** Everything that the simulation can send, in the one table that commands, API and tests read. */
export const simulationCatalogue: SimulationCatalogue = {
  personas: cataloguePersonas.map(({ via, from, what }) => ({ via, from, what })),
  visibilities,
  faults: allFaults.map(fault => ({
    fault,
    what: faultDescriptions[fault],
    via: channels.filter(via => faultOutcomes[via][fault] !== undefined),
  })),
  entries: cataloguePersonas.flatMap(persona => [
    ...listHonest(persona),
    ...listFaults(persona).map(fault => ({
      via: persona.via,
      from: persona.from,
      fault,
      expected: expectFault(persona, fault),
    })),
  ]),
}

/** Finds the catalogue's entry for a request. @throws Error with the valid values, when the simulation has no such persona, visibility or fault */
export function findCatalogueEntry({
  via,
  from,
  visibility,
  fault,
}: Pick<SendRequest, 'via' | 'from' | 'visibility' | 'fault'>): CatalogueEntry {
  const persona = findPersona(via, from)
  if (visibility !== undefined && !visibilities[via].includes(visibility)) {
    throw new Error(`"${via}" has ${describeChoice(visibilities[via], 'visibility')}, not "${visibility}"`)
  }
  const possibleFaults = listFaults(persona)
  if (fault !== undefined && !possibleFaults.includes(fault)) {
    throw new Error(`${persona.from} by "${via}" has ${describeChoice(possibleFaults, 'fault')}, not "${fault}"`)
  }
  return {
    via,
    from: persona.from,
    ...(visibility && { visibility }),
    ...(fault && { fault }),
    expected: fault === undefined ? persona.honestOutcome : expectFault(persona, fault),
  }
}

function findPersona(via: SendRequest['via'], from: string | undefined): CataloguePersona {
  const channelPersonas = cataloguePersonas.filter(persona => persona.via === via)
  const bareSender = from?.replace(/^@/, '')
  const chosenPersona = channelPersonas.find(persona => bareSender === undefined || persona.from === bareSender)
  if (chosenPersona) return chosenPersona
  // Any subject can have a token, and any local part a mailbox at one of the domains.
  const domain = bareSender?.split('@')[1]
  const similarPersona = channelPersonas.find(persona => persona.from.split('@')[1] === domain && via !== 'activitypub')
  if (similarPersona && bareSender && /^[\w.+-]{1,64}(@|$)/.test(bareSender))
    return { ...similarPersona, from: bareSender }
  throw new Error(
    `nobody is called "${from}" there; there are ${channelPersonas.map(persona => persona.from).join(', ')}`,
  )
}

function describeChoice(choice: readonly string[], choiceName: string): string {
  return choice.length === 0 ? `no ${choiceName} to choose` : `as ${choiceName} ${choice.join(', ')}`
}

function listHonest({ via, from, honestOutcome: expected }: CataloguePersona): readonly CatalogueEntry[] {
  const ownVisibilities = visibilities[via]
  return ownVisibilities.length === 0
    ? [{ via, from, expected }]
    : ownVisibilities.map(visibility => ({ via, from, visibility, expected }))
}

function listFaults({ via, impossibleFaults = [] }: CataloguePersona): readonly SendFault[] {
  return allFaults.filter(fault => faultOutcomes[via][fault] !== undefined && !impossibleFaults.includes(fault))
}

function expectFault(
  { via, honestOutcome, unprovenOutcome = honestOutcome, outcomesByFault = {} }: CataloguePersona,
  fault: SendFault,
) {
  const usualOutcome = faultOutcomes[via][fault] ?? answeredOutcome
  return (
    outcomesByFault[fault] ??
    (usualOutcome === 'honest' ? honestOutcome : usualOutcome === 'unproven' ? unprovenOutcome : usualOutcome)
  )
}
