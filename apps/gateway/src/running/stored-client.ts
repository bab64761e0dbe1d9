// Serves the operator API from stored data while no gateway runs.
import { randomBytes } from 'node:crypto'
import type { ApiOperation } from '@postern/operator'
import { createClient } from '@postern/operator/client'
import type { OperatorClient } from '@postern/operator/commands'
import type { ConfigFile } from '../config/read-config.ts'
import { parseEffectiveConfig } from '../dev/dev-configs.ts'
import type { Gateway } from '../gateway.ts'
import { openGateway } from '../gateway.ts'
import { createSecretMask } from '../masking/secret-mask.ts'
import { listSecretTexts } from '../masking/secret-settings.ts'
import { createLog } from '../observe/log.ts'

/**
 * Opens a gateway's routes on the data of a file. The data opens for writing only when a command changes something.
 * @throws ConfigError, AggregateError of them
 */
export async function openStoredClient(file: ConfigFile): Promise<OperatorClient> {
  const config = parseEffectiveConfig(file)
  const { baseDir, path: configPath } = file
  const token = config.operator_token ?? randomBytes(24).toString('base64url')
  const log = createLog({ level: 'error', readable: true })
  const mask = createSecretMask(listSecretTexts(file))
  const openStoredGateway = (isReadOnly: boolean) =>
    // Only a start may change the tables, because another release may be using them, or nobody has a backup of them.
    openGateway(config, { baseDir, configPath, log, mask, operatorToken: token, mayMigrate: false, isReadOnly })
  let openedGateway: Promise<OpenedStore | undefined> = Promise.resolve(undefined)

  /** Opens the data once, in the mode of the first operation, because opening and closing runs the agents' own code. */
  function openForOperation(operation: ApiOperation, input: unknown): Promise<Gateway> {
    return openInMode({ isReadOnly: isReading(operation, (input as { readonly body?: unknown }).body) })
  }

  function openInMode({ isReadOnly }: { readonly isReadOnly: boolean }): Promise<Gateway> {
    const pendingStore = openedGateway.then(async currentStore => {
      if (currentStore && (isReadOnly || !currentStore.isReadOnly)) return currentStore
      await currentStore?.gateway.stop()
      return { gateway: await openStoredGateway(isReadOnly), isReadOnly }
    })
    // The next operation retries.
    openedGateway = pendingStore.catch(() => undefined)
    return pendingStore.then(({ gateway }) => gateway)
  }

  const request: Parameters<typeof createClient>[1] = async (path, init) => {
    const gateway = await openInMode({ isReadOnly: true })
    return gateway.app.request(path, init)
  }
  const client = createClient(token, request, {
    isRunning: false,
    isSimulating: false,
    close: async () => void (await (await openedGateway)?.gateway.stop()),
  })
  return {
    ...client,
    async call(operation, input) {
      await openForOperation(operation, input)
      return client.call(operation, input)
    },
    async *readLines(operation, input) {
      await openForOperation(operation, input)
      yield* client.readLines(operation, input)
    },
  }
}

interface OpenedStore {
  readonly gateway: Gateway
  readonly isReadOnly: boolean
}

function isReading({ method, isReadOnly }: ApiOperation, body: unknown): boolean {
  return isReadOnly?.(body) ?? method === 'GET'
}
