import type { Address } from '../message/address/address.ts'
import type { IdentityEvidence } from '../message/address/identity.ts'
import type { AuthMethod, ChannelName, MentionRelay } from '../message/message.ts'

/** What the rest of the program needs to know of a channel, without knowing its protocol. The same for every configuration. */
export interface ChannelDescriptor {
  readonly name: ChannelName
  /** How it proves who speaks, beside `none`. */
  readonly authMethods: readonly AuthMethod[]
  /** How a mention of somebody else in an answer travels. */
  readonly mentionRelay: MentionRelay
  /**
   * Peers wait for the answer in their call: who may not speak is told so. Elsewhere a refusal would only tell strangers who may speak.
   * Every message is its caller's own.
   */
  readonly answersCalls?: true
  readonly speaker: SpeakerRules
  /** The simulated network has somebody who speaks by it (`postern send --via`). */
  readonly isSimulated?: true
}

/** Who speaks on a channel, and what an address there means. Functions are pure. */
export interface SpeakerRules {
  /** The assurance of a transport proof that makes the address itself the speaker's; absent: none does, nobody links an address here. */
  readonly assurance?: 'address' | 'oauth' | undefined
  /** The principal that is proven together with the address; undefined: the address is not the speaker's own. */
  identify?(address: Address, proven: IdentityEvidence): string | undefined
  /**
   * The address that somebody writes to name a speaker here, and the principal where the address alone tells it; undefined: it is none of this
   * channel's. `domain` is the gateway's own.
   */
  readAddress?(
    text: string,
    domain: string | undefined,
  ): { readonly address: Address; readonly subject?: string | undefined } | undefined
  /** `@name@domain` as people write it; default: as it is. */
  showAddress?(address: string): string
  /** How somebody writes such an address, and what it is: `name@example.org`, `a mailbox`. */
  readonly addressExample?: { readonly address: string; readonly means: string } | undefined
  /** The principal of somebody who chats, as an operator writes it, in whatever spacing; undefined: it names nobody here. */
  readOwner?(text: string): string | undefined
  /** What makes a principal of an address without its first `@`, in lower case: `mailto:`. */
  readonly subjectScheme?: string | undefined
  /** The scope of all that is said with a token of this issuer and subject. */
  scopeOfToken?(issuer: string, subject: string): string
  /** Conversations of other channels go on here, and nothing can be sent here unasked. */
  readonly isChat?: true
  /** Addresses are mailboxes: notices and copies of answers may go there. */
  readonly isMailbox?: true
  /** Every address of the gateway's own domain is an agent's. */
  readonly ownsDomain?: true
  /** What is said before others can be answered to its author alone. */
  readonly answersInPrivate?: true
  /** Private scopes that differ in upper and lower case are the same. */
  readonly ignoresCase?: true
}
