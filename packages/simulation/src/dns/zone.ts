import dns2 from 'dns2'
import type { DnsRecords } from './records.ts'
import { encodeRecords, nameRecordType } from './records.ts'

const { Packet } = dns2
type DnsMessage = Parameters<typeof Packet.createResponseFromRequest>[0]

const rcodes = { noerror: 0, servfail: 2, nxdomain: 3 } as const

/** `silence` never answers, so that the resolver runs into its time-out. */
export type DnsFailure = 'servfail' | 'silence' | 'nxdomain'

/** The zone: plain maps from a lower-case name to what it holds and how it fails. */
export interface Zone {
  readonly records: Map<string, DnsRecords>
  readonly failures: Map<string, DnsFailure>
  /** Every question asked so far, `alice.test TXT`. */
  readonly questions: string[]
}

export function createZone(): Zone {
  return { records: new Map(), failures: new Map(), questions: [] }
}

/** The answer to one query, or undefined where the zone keeps silent. */
export function answerQuery(query: DnsMessage, { records, failures, questions }: Zone): DnsMessage | undefined {
  const response = Packet.createResponseFromRequest(query)
  const question = query.questions[0]
  if (!question) return withCode(response, 'servfail')
  const name = question.name.toLowerCase()
  const type = nameRecordType(question.type)
  questions.push(`${name} ${type ?? question.type}`)
  const failure = failures.get(name)
  if (failure === 'silence') return undefined
  if (failure) return withCode(response, failure)
  const held = records.get(name)
  if (!held) return withCode(response, isEmptyNonTerminal(name, records) ? 'noerror' : 'nxdomain')
  // RFC 1034 §3.6.2: an alias is answered whatever was asked.
  const answered = held.CNAME && type !== 'CNAME' ? 'CNAME' : type
  if (answered) response.answers.push(...encodeRecords(question.name, answered, held))
  return withCode(response, 'noerror')
}

function withCode(response: DnsMessage, code: keyof typeof rcodes): DnsMessage {
  response.header.aa = 1
  response.header.ra = 1
  response.header.rcode = rcodes[code]
  return response
}

/** RFC 8020: a name below which something exists does exist, without records of its own. */
function isEmptyNonTerminal(name: string, records: ReadonlyMap<string, DnsRecords>): boolean {
  return [...records.keys()].some(known => known.endsWith(`.${name}`))
}
