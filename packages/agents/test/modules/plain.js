export function handle(message) {
  return `plain ${message.sender.address}`
}
