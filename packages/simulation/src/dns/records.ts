import dns2 from 'dns2'

const { Packet } = dns2

/** What a zone says about one name. TXT values are cut into strings of 255 octets on the wire (RFC 1035 §3.3). */
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

const typeNames = new Map(
  Object.entries(recordTypes).map(([name, { number }]) => [number, name as keyof DnsRecords] as const),
)

/** `TXT` for 16, and so on; undefined for a type the zone cannot hold. */
export function nameRecordType(number: number): keyof DnsRecords | undefined {
  return typeNames.get(number)
}

/** The resource records of one type, ready for a DNS message. */
export function encodeRecords(name: string, type: keyof DnsRecords, records: DnsRecords): readonly Resource[] {
  const { number, encode } = recordTypes[type] as { number: number; encode(value: unknown): Partial<Resource> }
  const base = { name, type: number, class: Packet.CLASS.IN, ttl: 60 }
  return (records[type] ?? []).map(value => ({ ...base, ...encode(value) }) as Resource)
}

function cutCharacterStrings(text: string): string[] {
  return text.match(/[\s\S]{1,255}/g) ?? ['']
}
