// Defines the octets and the envelope of a mail that an endpoint receives.

/** The endpoints over which the operator's own servers deliver mail. */
export type RelayEndpoint = 'listen' | 'inbound'

/** The transport's data about an incoming message. */
export interface IncomingEnvelope {
  /** MAIL FROM without brackets. It is empty for the null sender, and undefined if the transport did not supply it. */
  readonly from?: string | undefined
  /** RCPT TO. It is empty if the transport did not supply it. */
  readonly to: readonly string[]
  /** The address of the client that delivered the message to the operator's first server. SPF judges this client. */
  readonly ip?: string | undefined
  readonly helo?: string | undefined
  /**
   * The endpoint that received the message, if its clients forward mail for other servers. It is undefined if any
   * client may have sent the message.
   */
  readonly endpoint?: RelayEndpoint | undefined
  /** The server that forwarded the message. It is absent for an endpoint of this gateway, which keeps every octet. */
  readonly source?: MailSource | undefined
}

/** A server that received a mail first and forwarded it in its own form. */
interface MailSource {
  /** The name of the server, as `provider:<name>`. */
  readonly name: string
  /** True if the server may have changed octets, so that an invalid signature may have been valid before. */
  readonly isLossy: boolean
  /** True if the server saw DMARC pass for the author and the operator trusts the server. */
  readonly hasDmarcPass?: boolean | undefined
}

/** A received message, octet by octet. */
export interface RawMail {
  readonly octets: Uint8Array
  readonly envelope: IncomingEnvelope
  /** The time of receipt, ISO 8601 UTC. */
  readonly receivedAt: string
  /** The flags that depend on earlier mail, for a mail that is replayed from the store. Such a mail is not deferred. */
  readonly historyFlags?: readonly string[] | undefined
}
