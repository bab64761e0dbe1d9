// Lists the rules over which the gateway's DKIM verifier and mailauth disagree.
import { mailLimitsSchema } from '../../src/config/limits.ts'
import { scanHeaders } from '../../src/mail/header.ts'

type Tags = ReadonlyMap<string, string>

/** A rule that the gateway's verifier enforces and mailauth does not. The gateway never accepts a signature that breaks it. */
interface Difference {
  readonly clause: string
  readonly applies: (tags: Tags) => boolean
}

const isCanonicalization = (text: string) => /^(?:simple|relaxed)(?:\/(?:simple|relaxed))?$/i.test(text)
const isBase64 = (text: string) => /^[a-z0-9+/]+={0,2}$/i.test(text.replace(/[ \t\r\n]/g, ''))
const hasOtherBlanks = (text: string) => /[^\S \t\r\n]/.test(text)

const differences: readonly Difference[] = [
  {
    clause: 'RFC 6376 §3.5, sig-c-tag-alg: one name, or two with a slash. mailauth reads a missing one as "simple".',
    applies: tags => tags.has('c') && !isCanonicalization(tags.get('c') ?? ''),
  },
  {
    clause: 'RFC 6376 §3.5, sig-b-tag-data: base64. mailauth passes over other characters.',
    applies: tags => !isBase64(tags.get('b') ?? ''),
  },
  {
    clause: 'RFC 6376 §2.8: folding white space is spaces, tabs and line ends. mailauth removes other blanks, too.',
    applies: tags => [...tags].flat().some(hasOtherBlanks),
  },
  {
    clause: 'RFC 8301 §3.1: rsa-sha1 must not be used for verifying. mailauth computes the body hash with it first.',
    applies: tags => tags.get('a')?.toLowerCase() === 'rsa-sha1',
  },
]

/** Finds the rule over which the two verifiers may disagree about a signature. */
export function findDifference(tags: Tags | undefined): string | undefined {
  return tags && differences.find(({ applies }) => applies(tags))?.clause
}

/** Returns true for a signature on which mailauth throws, so that it reports no other signature of the message. */
export function breaksMailauth(tags: Tags): boolean {
  return /^\s*\//.test(tags.get('c') ?? '')
}

const limits = mailLimitsSchema.parse({})

/** Lists the tags of each signature of a message, without the tag-list parser under test. */
export function listTags(octets: Buffer): readonly Tags[] {
  const fields = scanHeaders(octets, limits).fields.filter(({ name }) => name === 'dkim-signature')
  return fields.map(({ value }) => {
    const specs = value.split(';').map(spec => [spec.slice(0, spec.indexOf('=')), spec.slice(spec.indexOf('=') + 1)])
    return new Map(specs.map(([name = '', text = '']) => [name.trim(), text.replace(/^[ \t]+|[ \t]+$/g, '')]))
  })
}
