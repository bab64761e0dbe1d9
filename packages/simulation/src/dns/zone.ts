// Answers DNS queries from the records of a zone in memory.
import dns2 from 'dns2'

type DnsMessage = Parameters<typeof Packet.createResponseFromRequest>[0]

const rcodes = { noerror: 0, servfail: 2, nxdomain: 3 } as const

/** The failure of a name. `silence` never answers, so that the resolver's query times out. */
export type DnsFailure = 'servfail' | 'silence' | 'nxdomain'

/** A zone in memory. Its maps have lower-case names as keys. */
export interface Zone {
  readonly records: Map<string, DnsRecords>
  readonly failures: Map<string, DnsFailure>
  /** Every question so far, such as `alice.test TXT`. */
  readonly questions: string[]
}

/** Answers one query. Returns undefined if the zone stays silent. */
export function answerQuery(query: DnsMessage, { records, failures, questions }: Zone): DnsMessage | undefined {
  const response = Packet.createResponseFromRequest(query)
  const question = query.questions[0]
  if (!question) return setCode(response, 'servfail')
  const name = question.name.toLowerCase()
  const type = typeNames.get(question.type)
  questions.push(`${name} ${type ?? question.type}`)
  const failure = failures.get(name)
  if (failure === 'silence') return undefined
  if (failure) return setCode(response, failure)
  const recordSet = records.get(name)
  if (!recordSet) return setCode(response, isEmptyNonTerminal(name, records) ? 'noerror' : 'nxdomain')
  // RFC 1034 §3.6.2: an alias is returned regardless of the queried type.
  const answerType = recordSet.CNAME && type !== 'CNAME' ? 'CNAME' : type
  if (answerType) response.answers.push(...encodeRecords(question.name, answerType, recordSet))
  return setCode(response, 'noerror')
}

function setCode(response: DnsMessage, code: keyof typeof rcodes): DnsMessage {
  response.header.aa = 1
  response.header.ra = 1
  response.header.rcode = rcodes[code]
  return response
}

/** Returns true for a name that exists only because a name below it exists (RFC 8020). */
function isEmptyNonTerminal(name: string, records: ReadonlyMap<string, DnsRecords>): boolean {
  return [...records.keys()].some(recordName => recordName.endsWith(`.${name}`))
}

const { Packet } = dns2

/** The records of one name in a zone. TXT values are split into strings of 255 octets in the message (RFC 1035 §3.3). */
export interface DnsRecords {
  readonly A?: readonly string[] | undefined
  readonly AAAA?: readonly string[] | undefined
  readonly TXT?: readonly string[] | undefined
  readonly MX?: readonly { readonly priority: number; readonly exchange: string }[] | undefined
  readonly CNAME?: readonly string[] | undefined
  readonly PTR?: readonly string[] | undefined
}

type Resource = dns2.Packet.Resource

interface RecordType<Name extends keyof DnsRecords> {
  readonly number: number
  encode(value: NonNullable<DnsRecords[Name]>[number]): Partial<Resource>
}

const recordTypes: { readonly [Name in keyof Required<DnsRecords>]: RecordType<Name> } = {
  A: { number: Packet.TYPE.A, encode: address => ({ address }) },
  AAAA: { number: Packet.TYPE.AAAA, encode: address => ({ address }) },
  TXT: { number: Packet.TYPE.TXT, encode: text => ({ data: cutCharacterStrings(text) }) },
  MX: { number: Packet.TYPE.MX, encode: ({ priority, exchange }) => ({ priority, exchange }) },
  CNAME: { number: Packet.TYPE.CNAME, encode: domain => ({ domain }) },
  PTR: { number: Packet.TYPE.PTR, encode: domain => ({ domain }) },
}

/** The record type by its number, such as `TXT` for 16. */
const typeNames = new Map(
  Object.entries(recordTypes).map(([name, { number }]) => [number, name as keyof DnsRecords] as const),
)

/** Encodes the resource records of one type for a DNS message. */
function encodeRecords(name: string, type: keyof DnsRecords, records: DnsRecords): readonly Resource[] {
  const { number, encode } = recordTypes[type] as { number: number; encode(value: unknown): Partial<Resource> }
  const base = { name, type: number, class: Packet.CLASS.IN, ttl: 60 }
  return (records[type] ?? []).map(value => ({ ...base, ...encode(value) }) as Resource)
}

function cutCharacterStrings(text: string): string[] {
  return text.match(/[\s\S]{1,255}/g) ?? ['']
}
