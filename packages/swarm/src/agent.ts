// Runs a swarm of agents behind one address.
import { type FilePart, type NormalizedMessage, plainTextOf, Undeliverable } from '@postern/message'
import type { Agent, AgentContext } from '@postern/pipeline'
import { formatUuidOf } from '@postern/transcript'
import { openSwarmClient } from './client/client.ts'
import type { SwarmDeps, SwarmSpec } from './spec/swarm.ts'

type SwarmContext = Pick<AgentContext, 'signal' | 'state' | 'attachment'>

/**
 * Creates a swarm behind one address. Each conversation is one client of the swarm, even if its agents change. The state of the conversation contains
 * the client's random id, so nobody can reach another conversation by guessing an id.
 */
export function createSwarmAgent(
  spec: SwarmSpec,
  deps: SwarmDeps,
): Agent & { handle(message: NormalizedMessage, context: SwarmContext): Promise<string | undefined> } {
  return {
    async handle(message, context) {
      context.signal.throwIfAborted()
      const client = await openSwarmClient(spec, deps, await findClientId(context, deps))
      const cancel = () => void client.cancelOutput()
      context.signal.addEventListener('abort', cancel)
      try {
        const payload = { message_id: message.id, sender: message.sender.address }
        const images = await loadImages(message, context)
        const loadedImages = images.filter(image => image !== undefined)
        const missingImageNotes = images.flatMap((image, index) =>
          image === undefined ? [describeMissingImage(index + 1)] : [],
        )
        const text = [plainTextOf(message.parts), ...missingImageNotes].filter(Boolean).join('\n\n')
        const answer = await client.complete(text, { payload, images: loadedImages })
        context.signal.throwIfAborted()
        return answer === '' ? undefined : answer
      } finally {
        context.signal.removeEventListener('abort', cancel)
      }
    },
  }
}

async function findClientId({ state }: SwarmContext, { system }: SwarmDeps): Promise<string> {
  const value = await state.get()
  if (typeof value === 'object' && value !== null && 'swarm_client' in value) return String(value.swarm_client)
  const swarm_client = formatUuidOf(system)
  state.set({ swarm_client })
  return swarm_client
}

/** Loads the pictures of a message. A picture that is not available is undefined, because the swarm answers the text even without its pictures. */
function loadImages({ parts }: NormalizedMessage, context: SwarmContext): Promise<readonly (string | undefined)[]> {
  const images = parts.filter(
    (part): part is FilePart => part.kind === 'file' && part.mime?.startsWith('image/') === true,
  )
  return Promise.all(images.map(image => loadImage(image, context)))
}

async function loadImage(image: FilePart, { attachment, signal }: SwarmContext): Promise<string | undefined> {
  try {
    return Buffer.from((await attachment(image)).bytes).toString('base64')
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof Undeliverable) return undefined
    throw error
  }
}

function describeMissingImage(number: number): string {
  return `[Picture ${number} of the message cannot be read: it could not be fetched.]`
}
