// An agent in JavaScript without a default export.
export function handle(message) {
  return `plain ${message.sender.address}`
}
