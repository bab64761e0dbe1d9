// Defines the messages of the test channel `ticker`.
import { z } from 'zod'

/** One message on the wire: `POST /ticker/<agent>`, sealed by the header `x-seal`, HMAC-SHA-256 of the body in hexadecimal. */
export const slipSchema = z.object({
  id: z.string().min(1).max(200),
  /** The sender's address, `@name@host`. */
  from: z.string().regex(/^@[a-z]+@[a-z.]+$/),
  text: z.string().max(10_000),
  /** The sender's name for the conversation. Absent for the one conversation with each agent. */
  thread: z.string().max(200).optional(),
  /** The address that receives an answer. */
  reply: z.url(),
})

export type Slip = z.output<typeof slipSchema>

/** A request to the route. */
export interface SealedSlip {
  readonly agent: string
  readonly body: Uint8Array
  readonly seal: string
}
