// Lists every generated document, and finds those that differ from the code.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeLicences, listDependencies, readLock } from '../release/licences.ts'
import { describeErrors } from './answers/errors.ts'
import { describeFlags } from './answers/flags.ts'
import { describeApi } from './api/operations.ts'
import { describeConfiguration } from './configuration.ts'
import { describeMessage, describeResponsePage } from './message.ts'
import { describeCommands } from './program/commands.ts'
import { describeDoctor } from './program/doctor.ts'
import { describeEnvironment } from './program/environment.ts'
import { describeMetrics } from './program/metrics.ts'
import { describePythonTypes } from './python.ts'
import { describeOpenApi, describeRoutes } from './routes.ts'
import { describeConfigSchema, describeMessageSchema, describeResponseSchema } from './schema/json-schemas.ts'
import type { KeyComments } from './schema/key-comments.ts'
import { openKeyComments } from './schema/key-comments.ts'

type Describe = (comments: KeyComments, root: string) => string | Promise<string>

/** Documents that are generated from code, each with its writer: the files of docs/reference and the Python types. */
const documents: Readonly<Record<string, Describe>> = {
  'docs/reference/configuration.md': describeConfiguration,
  'docs/reference/routes.md': describeRoutes,
  'docs/reference/openapi.json': describeOpenApi,
  'docs/reference/commands.md': describeCommands,
  'docs/reference/doctor.md': describeDoctor,
  'docs/reference/message.md': describeMessage,
  'docs/reference/response.md': describeResponsePage,
  'docs/reference/errors.md': describeErrors,
  'docs/reference/flags.md': describeFlags,
  'docs/reference/metrics.md': describeMetrics,
  'docs/reference/environment.md': describeEnvironment,
  'docs/reference/licences.md': (_, root) => describeLicences(listDependencies(readLock(root), 'apps/gateway')),
  'apps/gateway/schemas/config.json': describeConfigSchema,
  'apps/gateway/schemas/message.json': describeMessageSchema,
  'apps/gateway/schemas/response.json': describeResponseSchema,
  'clients/python/postern_agent/types.py': describePythonTypes,
}

/** Returns the current output for each document, by its path from the root of the repository. */
export async function describeReference(root: string): Promise<ReadonlyMap<string, string>> {
  using comments = openKeyComments(root)
  const texts = Object.entries(documents).map(
    async ([path, describe]) => [path, await describe(comments, root)] as const,
  )
  const described = new Map(await Promise.all(texts))
  return new Map([...described, ...describeApi(described.get('docs/reference/openapi.json') ?? '')])
}

/** Returns a sentence for each file that differs from the code's output, with the first different line. */
export function findDifferences(root: string, texts: ReadonlyMap<string, string>): readonly string[] {
  return [...texts].flatMap(([path, text]) => {
    if (!existsSync(join(root, path))) return [`${path} is not there`]
    const currentText = readFileSync(join(root, path), 'utf8')
    if (currentText === text) return []
    const [lines, current] = [currentText.split('\n'), text.split('\n')]
    const lineIndex = current.findIndex((line, index) => line !== lines[index])
    const line = lineIndex === -1 ? current.length : lineIndex
    return [`${path}:${line + 1} has "${lines[line] ?? ''}", and the code gives "${current[line] ?? ''}"`]
  })
}
