// Defines a mail as an endpoint receives it: its octets and its envelope.

/** The endpoints by which the operator's own servers bring mail. */
export type RelayEndpoint = 'listen' | 'inbound'

/** The transport's data about a message that comes in. */
export interface MailEnvelopeIn {
  /** MAIL FROM without brackets. It is empty for the null sender, and undefined if the transport did not say it. */
  readonly from?: string | undefined
  /** RCPT TO. It is empty if the transport did not say it. */
  readonly to: readonly string[]
  /** The address of the client that brought the message to the operator's first server. SPF judges this client. */
  readonly ip?: string | undefined
  readonly helo?: string | undefined
  /**
   * The endpoint that the message came by, if its clients speak for others. It is undefined if any client may have
   * brought the message.
   */
  readonly endpoint?: RelayEndpoint | undefined
  /** The server that forwarded the message. It is absent for an endpoint of this gateway, which keeps every octet. */
  readonly source?: MailSource | undefined
}

/** A server that received a mail first and forwarded it in its own form. */
interface MailSource {
  /** `provider:<name>` */
  readonly name: string
  /** True if the server may have changed octets, so that a signature that does not verify may have been good. */
  readonly isLossy: boolean
  /** True if the server saw DMARC pass for the author and the operator trusts the server. */
  readonly hasDmarcPass?: boolean | undefined
}

/** A received message, octet by octet. */
export interface RawMail {
  readonly octets: Uint8Array
  readonly envelope: MailEnvelopeIn
  /** The time of receipt, ISO 8601 UTC. */
  readonly receivedAt: string
  /** The flags that depend on earlier mail, for a mail that is read again. Such a mail is not deferred. */
  readonly historyFlags?: readonly string[] | undefined
}
