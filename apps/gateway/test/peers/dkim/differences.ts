/** Explains differences between DKIM verifiers over a corpus of signed mails that `packages/email/test/dkim/write-corpus.ts` writes. */
export interface CorpusMail {
  readonly file: string
  /** The key records by name. */
  readonly records: Readonly<Record<string, string>>
  /** The tags of each signature, the top one first. */
  readonly tags: readonly Readonly<Record<string, string>>[]
  /** The length of the canonical body in octets, for each canonicalization. */
  readonly bodyLengths: { readonly simple: number; readonly relaxed: number }
  /** True for each signature that our verifier computes as good, except for expired, weak and malformed ones. */
  readonly isGood: readonly boolean[]
}

interface JudgedSignature {
  readonly mail: CorpusMail
  readonly tags: Readonly<Record<string, string>>
  readonly record: string
  /** The mail itself, as Latin-1. */
  readonly text: string
}

/** A reason why the other verifier may give another verdict. */
export interface Difference {
  readonly reason: string
  readonly isCase: (signed: JudgedSignature) => boolean
  /** The verdict of the other verifier in this case. */
  readonly says: boolean
}

const formOf = ({ tags }: JudgedSignature, part: 0 | 1) =>
  (tags.c ?? 'simple').toLowerCase().split('/')[part] === 'relaxed' ? 'relaxed' : 'simple'

export const dkimpyDifferences: readonly Difference[] = [
  {
    reason: 'RFC 6376 §3.5 and RFC 5234 §2.3: the words of c= in any case; dkimpy knows lower case only',
    isCase: ({ tags }) => /[A-Z]/.test(tags.c ?? ''),
    says: false,
  },
  {
    reason: 'RFC 6376 §3.6.1 and RFC 5234 §2.3: the words of k= in any case; dkimpy knows lower case only',
    isCase: ({ record }) => /\bk=[A-Z]/.test(record),
    says: false,
  },
  {
    reason: 'RFC 6376 §3.6.1: s= of a key is a list; dkimpy knows one service',
    isCase: ({ record }) => /\bs=\w+:\w+/.test(record),
    says: false,
  },
  {
    reason: 'RFC 6376 §3.6.1: h= of a key names the hashes it is for; dkimpy passes over it',
    isCase: ({ record }) => /\bh=sha1;/.test(record),
    says: true,
  },
]

export const openDkimDifferences: readonly Difference[] = [
  {
    reason: 'in its test mode OpenDKIM takes the blanks behind the name of a field for one, which "simple" does not',
    isCase: signed =>
      formOf(signed, 0) === 'simple' && /^[^\s:]+:(?! \S)/m.test(signed.text.slice(0, signed.text.indexOf('\r\n\r\n'))),
    says: false,
  },
  {
    reason: 'RFC 6376 §3.5: signers must not write an l= beyond the body; OpenDKIM refuses what they must not write',
    isCase: signed => Number(signed.tags.l) > signed.mail.bodyLengths[formOf(signed, 1)],
    says: false,
  },
  {
    reason: 'OpenDKIM judges no signature of a mail that has a malformed one',
    isCase: ({ mail }) => mail.isGood.includes(false),
    says: false,
  },
  {
    reason: 'RFC 6376 §3.6.1 asks for an RSAPublicKey; OpenDKIM reads only the SubjectPublicKeyInfo that most publish',
    isCase: ({ record }) => /\bp=(?:MIGJ|MIIBC)/.test(record),
    says: false,
  },
  {
    reason: 'RFC 6376 §3.2: a tag that comes twice makes the list invalid; OpenDKIM takes one of them',
    isCase: ({ record }) => /\bk=.*\bk=/.test(record),
    says: true,
  },
  {
    reason: 'RFC 6376 §3.6.1: p= is base64; OpenDKIM passes over other characters',
    isCase: ({ record }) => /\bp=[^;]*[^\w+/=\s;]/.test(record),
    says: true,
  },
]
