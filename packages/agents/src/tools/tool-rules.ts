// Applies the rules on the calls of a tool: the first rule whose condition the arguments meet counts.

import { hash } from 'node:crypto'
import { ConfigError } from '@postern/message'
import type { ToolPolicies, ToolRule } from '../config/tool-policies.ts'
import { createCondition } from './condition.ts'
import type { MatchingRule, RuledTool, Tool } from './tools.ts'

/** Returns the tools with their rules, without tools that never run. @throws ConfigError if a rule cannot count or names an unknown tool */
export function applyToolPolicies(
  tools: ReadonlyMap<string, Tool>,
  policies: ToolPolicies,
  key: string,
): ReadonlyMap<string, RuledTool> {
  const unknown = Object.keys(policies).find(name => !tools.has(name))
  if (unknown !== undefined) {
    throw new ConfigError(`${key}.${unknown}`, 'there is no such tool', `Name one of: ${[...tools.keys()].join(', ')}`)
  }
  const toolsWithRules = [...tools].map(
    ([name, tool]) => [name, ruleTool(tool, policies[name] ?? [], `${key}.${name}`)] as const,
  )
  return new Map(toolsWithRules.filter(([, { rules }]) => !areAllForbidden(rules)))
}

function areAllForbidden(rules: readonly ToolRule[]): boolean {
  return rules.at(-1)?.when === undefined && rules.length > 0 && rules.every(({ policy }) => policy === 'forbidden')
}

function ruleTool(tool: Tool, entries: ToolPolicies[string], key: string): RuledTool {
  const isList = Array.isArray(entries)
  const rules = [entries].flat()
  const findRule = createRuleFinder(rules, index => (isList ? `${key}.${index}` : key))
  return {
    ...tool,
    rules,
    findRule,
    findFault: args => tool.findFault(args) ?? (findRule(args)?.policy === 'forbidden' ? forbiddenMessage : undefined),
  }
}

/** Creates the function that finds the rule for a call. @throws ConfigError if a rule cannot count */
function createRuleFinder(rules: readonly ToolRule[], keyOf: (index: number) => string): RuledTool['findRule'] {
  const hiddenIndex = rules.findIndex(({ when }) => when === undefined) + 1
  if (hiddenIndex > 0 && hiddenIndex < rules.length) {
    const fix = 'Put the entry without "when" last'
    throw new ConfigError(keyOf(hiddenIndex), 'it never counts: the entry before it has no "when"', fix)
  }
  const conditions = rules.map((rule, index) => {
    return {
      rule: { ...rule, ...identifyCalls(rules.slice(0, index + 1)) },
      isMet: createRuleCondition(rule, keyOf(index)),
    }
  })
  return args => conditions.find(({ isMet }) => isMet(args))?.rule
}

/** Identifies the calls that fall under a rule by a digest of the conditions up to its own, because each call falls under the first that it meets. */
function identifyCalls(rules: readonly ToolRule[]): Pick<MatchingRule, 'calls'> {
  const conditions = rules.flatMap(({ when }) => (when ? [when] : []))
  return conditions.length === 0 ? {} : { calls: hash('sha256', JSON.stringify(conditions)).slice(0, 16) }
}

function createRuleCondition({ when }: ToolRule, key: string): (args: unknown) => boolean {
  if (when === undefined) return () => true
  try {
    return createCondition(when)
  } catch (cause) {
    const fix = 'The guide "Let arguments decide which calls wait" lists the keywords that can be checked'
    throw new ConfigError(`${key}.when`, (cause as Error).message, fix, { cause })
  }
}

const forbiddenMessage = 'arguments: a call with these is forbidden'
const wrongApproverMessages = {
  sender: 'arguments: a call with these is for the sender to allow, not for an operator',
  operator: 'arguments: a call with these is for an operator to allow, not for the sender',
} as const

/** Finds the reason why a call must not run by the decision of this approver; undefined if there is none. */
export function findRuleFault(
  rule: Pick<ToolRule, 'policy' | 'approve'> | undefined,
  approver: ToolRule['approve'],
): string | undefined {
  if (rule?.policy === 'forbidden') return forbiddenMessage
  return rule?.policy === 'preview' && rule.approve !== approver ? wrongApproverMessages[rule.approve] : undefined
}

/** Finds the rule for a call among the rules that were stored with it. */
export function findStoredRule(rules: readonly ToolRule[], args: unknown): MatchingRule | undefined {
  return createRuleFinder(rules, String)(args)
}
