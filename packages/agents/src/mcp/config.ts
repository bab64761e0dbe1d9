// Declares the MCP servers whose tools a model may call.
import { z } from 'zod'
import { bearerSchema, endpointUrlSchema } from '../config/endpoint.ts'

const commonShape = {
  /** Tools of the server that the model may call; default: all. */
  only: z.array(z.string().min(1)).min(1).optional(),
  /** Stands before the names of the server's tools. */
  prefix: z
    .string()
    .regex(/^[a-zA-Z0-9_-]{1,32}$/, 'must be 1 to 32 letters, digits, "_" or "-"')
    .optional(),
}

const mcpServerSchema = z.union([
  z.strictObject({
    /** Program that the gateway starts, and speaks to by its standard input and output. */
    command: z.string().min(1),
    /** Arguments of the program. */
    args: z.array(z.string()).default([]),
    /** Variables that it gets beside PATH, HOME and the like; it gets none of the gateway's own. */
    env: z.record(z.string(), z.string()).default({}),
    ...commonShape,
  }),
  z.strictObject({
    /** Address of a server that speaks Streamable HTTP; it may be private. */
    url: endpointUrlSchema,
    /** Bearer token of the server. */
    api_key: bearerSchema.optional(),
    ...commonShape,
  }),
])

export const mcpShape = {
  /** MCP servers whose tools the model may call. */
  mcp: z.array(mcpServerSchema).max(20).default([]),
}

export type McpServerConfig = z.output<typeof mcpServerSchema>
