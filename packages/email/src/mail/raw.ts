/** Ways in by which servers of the operator's own bring mail. */
export type RelayEndpoint = 'listen' | 'inbound'

/** The transport's data about a message. */
export interface MailEnvelopeIn {
  /** MAIL FROM without brackets; empty for the null sender, undefined when the transport did not say. */
  readonly from?: string | undefined
  /** RCPT TO; empty when the transport did not say. */
  readonly to: readonly string[]
  /** The client that brought it to the first server of the operator; SPF judges it. */
  readonly ip?: string | undefined
  readonly helo?: string | undefined
  /** The endpoint it came by, if the clients there speak for others; undefined where any client may have brought it. */
  readonly endpoint?: RelayEndpoint | undefined
  /** Absent for an endpoint of our own, which keeps every octet. */
  readonly source?: MailSource | undefined
}

/** A server that received a mail before this one and forwarded it in its own form. */
interface MailSource {
  /** `provider:<name>` */
  readonly name: string
  /** Octets may have changed on the way: what does not verify may have been good. */
  readonly isLossy: boolean
  /** It saw DMARC pass for the author, and the operator believes it. */
  readonly hasDmarcPass?: boolean | undefined
}

/** A message as it came, octet by octet. */
export interface RawMail {
  readonly octets: Uint8Array
  readonly envelope: MailEnvelopeIn
  /** ISO 8601 UTC. */
  readonly receivedAt: string
  /** Of a mail that is read again: the flags by what had come here before it. It is not put off. */
  readonly known?: readonly string[] | undefined
}
