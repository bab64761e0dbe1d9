// Declares the facts about a channel that hold for every configuration.
import type { Address, AuthMethod, ChannelName, IdentityEvidence, MentionRelay } from '@postern/message'

/** The facts about a channel that the rest of the program needs, without knowledge of its protocol. They are the same for every configuration. */
export interface ChannelDescriptor {
  readonly name: ChannelName
  /** The methods that prove a speaker, besides `none`. */
  readonly authMethods: readonly AuthMethod[]
  /** The method of the evidence about a person, on a channel whose own method proves only the server that sends. Default: the method itself. */
  readonly evidenceMethod?: string
  /** The way in which a mention of another person in an answer travels. */
  readonly mentionRelay: MentionRelay
  /**
   * True if peers wait for the answer in their call. A peer that may not speak gets a refusal; on other channels a refusal would only tell strangers
   * who may speak. Every message is the caller's own.
   */
  readonly answersCalls?: true
  /** True if readers see an answer while it is written. Without it, an answer is seen only once it is complete. */
  readonly streamsAnswers?: true
  /** The time for which peers retry a message that gets no reply, in ms. */
  readonly repeatsForMs: number
  readonly speaker: SpeakerRules
  /** True if files reach peers by address and not inside messages: bytes in answers are stored and get an address. */
  readonly addressesFiles?: true
  /** True if clients read the documents of a preview, so that deliveries contain no document until a client reads them. */
  readonly isReadAsPreview?: true
  /** The first segments of the paths that agents of this gateway may call inside the gateway, such as `inbox`. */
  readonly openPaths?: readonly string[]
  /** Matches the paths whose requests cause work regardless of their method, so that they count like a POST. */
  readonly operationPaths?: RegExp
  /** True if the simulated network has a peer that speaks over this channel (`postern send --via`). */
  readonly isSimulated?: true
  /** Another name of the channel that `postern send --via` accepts. */
  readonly alias?: string
}

/** The rules about speakers and addresses on a channel. All functions are pure. */
export interface SpeakerRules {
  /** The assurances of transport proofs that prove the speaker's address itself. Absent if no proof does, so that nobody links an address here. */
  readonly assurance?: string | readonly string[] | undefined
  /** Returns the principal that is proven together with the address; undefined if the address is not the speaker's own. */
  identify?(address: Address, provenIdentity: IdentityEvidence): string | undefined
  /**
   * Reads a written address of a speaker on this channel, and its principal if the address alone determines it. Returns undefined for an address of
   * another channel. `domain` is the gateway's own.
   */
  readAddress?(
    text: string,
    domain: string | undefined,
  ): { readonly address: Address; readonly subject?: string | undefined } | undefined
  /** Formats `@name@domain` as people write it; default: unchanged. */
  showAddress?(address: string): string
  /** An example of such an address, and its kind: `name@example.org`, `a mailbox`. */
  readonly addressExample?: { readonly address: string; readonly means: string } | undefined
  /** Reads the principal of a chat user as an operator writes it, regardless of spacing; undefined if it names nobody on this channel. */
  readOwner?(text: string): string | undefined
  /** The URI scheme that turns an address without its first `@` into a principal, in lower case: `mailto:`. */
  readonly subjectScheme?: string | undefined
  /** Returns the scope of all messages with a token of this issuer and subject. */
  scopeOfToken?(issuer: string, subject: string): string
  /** True if conversations of other channels can continue here, and nothing can be sent here unasked. */
  readonly isChat?: true
  /** True if addresses are mailboxes, to which notices and copies of answers may go. */
  readonly isMailbox?: true
  /** True if every address of the gateway's own domain belongs to an agent. */
  readonly ownsDomain?: true
  /** True if the channel can answer the author alone, even if others have read the message. */
  readonly answersInPrivate?: true
  /** True if private scopes are compared regardless of case. */
  readonly ignoresCase?: true
}
